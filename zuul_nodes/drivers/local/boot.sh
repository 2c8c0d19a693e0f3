# The shell of the image runs this in a node before its sshd starts.
# $1 is the user, $2 the id of the user and of its group.
set -e
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
touch /etc/passwd /etc/group

# The user has the only id that exists in the sandbox, whatever the image has.
# Its entry comes first, because names of owners are looked up in this order.
own="$1:x:$2:$2::/home/$1:/bin/sh"
home="/home/$1"
rest=
while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in
        "$1":*)
            IFS=: read -r name password uid gid comment home shell <<END
$line
END
            own="$1:x:$2:$2:$comment:$home:$shell" ;;
        *) rest="$rest$line
" ;;
    esac
done < /etc/passwd
printf '%s\n%s' "$own" "$rest" > /etc/passwd
mkdir -p "$home"

# sshd gives terminals to the group "tty", whose id does not exist here;
# without that group, the terminals belong to the user.
rest=
while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in
        "$1":* | tty:*) ;;
        *) rest="$rest$line
" ;;
    esac
done < /etc/group
printf '%s:x:%s:\n%s' "$1" "$2" "$rest" > /etc/group

# Use the name servers of the machine.
rm -f /etc/resolv.conf
cp /run/zuul-nodes/resolv.conf /etc/resolv.conf
[ -e /etc/hosts ] || echo '127.0.0.1 localhost' > /etc/hosts
# No DNS has the node's own name, which sudo and other programs look up.
read -r name < /proc/sys/kernel/hostname
case "$(cat /etc/hosts)" in
    *"$name"*) ;;
    *) printf '\n127.0.0.1 %s\n' "$name" >> /etc/hosts ;;
esac

exec /usr/sbin/sshd -D -e -f /run/zuul-nodes/sshd_config
