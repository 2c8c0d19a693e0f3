"""The system calls that a node does not need and the kernel refuses.

Container runtimes refuse the same calls: most faults of the kernel that
allowed processes to leave a sandbox were in them, or required a user
namespace, in which every user is root.

A program of the kernel's filter (BPF) decides.  It is a list of instructions
of eight bytes; see https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import dataclasses
import errno
import os
import struct

from zuul_nodes.drivers import DriverError

# name -> its number in newer architectures, and its number in x86-64.
REFUSED = {
    'acct': (89, 163), 'add_key': (217, 248), 'bpf': (280, 321),
    'clock_adjtime': (266, 305), 'clock_settime': (112, 227),
    'delete_module': (106, 176), 'fanotify_init': (262, 300),
    'finit_module': (273, 313), 'fsconfig': (431, 431),
    'fsmount': (432, 432), 'fsopen': (430, 430), 'fspick': (433, 433),
    'init_module': (105, 175), 'io_uring_enter': (426, 426),
    'io_uring_register': (427, 427), 'io_uring_setup': (425, 425),
    'kcmp': (272, 312), 'kexec_file_load': (294, 320),
    'kexec_load': (104, 246), 'keyctl': (219, 250),
    'lookup_dcookie': (18, 212), 'mount': (40, 165),
    'mount_setattr': (442, 442), 'move_mount': (429, 429),
    'move_pages': (239, 279), 'name_to_handle_at': (264, 303),
    'nfsservctl': (42, 180), 'open_by_handle_at': (265, 304),
    'open_tree': (428, 428), 'open_tree_attr': (467, 467),
    'perf_event_open': (241, 298), 'pivot_root': (41, 155),
    'quotactl': (60, 179), 'quotactl_fd': (443, 443), 'reboot': (142, 169),
    'request_key': (218, 249), 'setns': (268, 308),
    'settimeofday': (170, 164), 'swapoff': (225, 168),
    'swapon': (224, 167), 'syslog': (116, 103), 'umount2': (39, 166),
    'unshare': (97, 272), 'userfaultfd': (282, 323),
    'vhangup': (58, 153),
    # Only x86-64 has these.
    '_sysctl': (None, 156), 'ioperm': (None, 173), 'iopl': (None, 172),
    'sysfs': (None, 139), 'uselib': (None, 134), 'ustat': (None, 136),
}
# The number of this call differs; its first argument has flags.
CLONE = (220, 56)
# Its flags are in memory, where the filter cannot see them.  Without this
# call, the C library uses the other one.
CLONE3 = 435
# Newer calls do not exist in the sandbox, because their effects are unknown.
# This is the last call of Linux 6.18; x86-64 has the ABI x32 behind it.
LAST = 469
# All kinds of namespaces: CLONE_NEW*, except for that of time, which clone()
# cannot create.
NAMESPACES = 0x7E020000
# Sockets of this family are outside of network namespaces: they lead to the
# hypervisor, and to programs of the machine.
SOCKET = (198, 41)
# AF_VSOCK.
VSOCK = 40

# Instructions and results; linux/bpf_common.h and linux/seccomp.h.
LOAD, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
# Offsets in the description of a call.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16


@dataclasses.dataclass(frozen=True)
class Architecture:
    """
    :ivar int audit: the kernel's constant AUDIT_ARCH_*.
    :ivar int column: of its numbers above.
    """

    audit: int
    column: int


ARCHITECTURES = {
    'aarch64': Architecture(0xC00000B7, 0),
    'riscv64': Architecture(0xC00000F3, 0),
    'x86_64': Architecture(0xC000003E, 1),
}


def makeProgram(machine=None):
    """
    :param str machine: an architecture, as ``uname -m`` prints it; by default
        that of this machine.
    :return: the program, bytes for the option ``--seccomp`` of bubblewrap.
    :raises DriverError: the architecture is not supported.
    """
    machine = machine or os.uname().machine
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise DriverError(
            f'The driver "local" does not support the architecture {machine}, '
            f'only {", ".join(ARCHITECTURES)}')
    column = architecture.column
    numbers = sorted(each[column] for each in REFUSED.values()
                     if each[column] is not None)
    missing = _instruct(RETURN, ERROR | errno.ENOSYS)
    refused = _instruct(RETURN, ERROR | errno.EPERM)
    allowed = _instruct(RETURN, ALLOW)
    return b''.join([
        _instruct(LOAD, ARCHITECTURE),
        # Programs of 32 bits use other numbers.
        _instruct(EQUAL, architecture.audit, 1, 0),
        _instruct(RETURN, KILL),
        _instruct(LOAD, NUMBER),
        _instruct(GREATER, LAST, 0, 1), missing,
        _instruct(EQUAL, CLONE3, 0, 1), missing,
        *(_instruct(EQUAL, number, 0, 1) + refused for number in numbers),
        _instruct(EQUAL, SOCKET[column], 0, 4),
        _instruct(LOAD, FIRST_ARGUMENT),
        _instruct(EQUAL, VSOCK, 0, 1), refused, allowed,
        _instruct(EQUAL, CLONE[column], 0, 3),
        _instruct(LOAD, FIRST_ARGUMENT),
        _instruct(ANY_BIT, NAMESPACES, 0, 1), refused, allowed])


def _instruct(code, value, if_true=0, if_false=0):
    """:return: an instruction; for a comparison, the last two arguments are
        the numbers of instructions to skip."""
    return struct.pack('=HBBI', code, if_true, if_false, value)
