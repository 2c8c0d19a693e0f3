# Run in a node by the shell of its image, before anybody can log in.
# $1 is the user, $2 the user's number, which is the group's, too.
set -e
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
touch /etc/passwd /etc/group

# The user is there under the one number that there is, whatever the image
# says.  It comes first: the names of files' owners are looked up so.
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

# sshd gives terminals to the group "tty", which has no number here; without
# it, they are the user's.
rest=
while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in
        "$1":* | tty:*) ;;
        *) rest="$rest$line
" ;;
    esac
done < /etc/group
printf '%s:x:%s:\n%s' "$1" "$2" "$rest" > /etc/group

# The name servers are the machine's.
rm -f /etc/resolv.conf
cp /run/zuul-nodes/resolv.conf /etc/resolv.conf
[ -e /etc/hosts ] || echo '127.0.0.1 localhost' > /etc/hosts
# No DNS knows the node's own name, which sudo and others look up.
read -r name < /proc/sys/kernel/hostname
case "$(cat /etc/hosts)" in
    *"$name"*) ;;
    *) printf '\n127.0.0.1 %s\n' "$name" >> /etc/hosts ;;
esac

exec /usr/sbin/sshd -D -e -f /run/zuul-nodes/sshd_config
