"""How the client of ZooKeeper waits for its sockets.

Kazoo sets up an object of the kernel for each wait, and takes it down
again: more work than all else that it does for a message, and it waits
several times for each.
"""

import select

READ = select.POLLIN | select.POLLPRI
WRITE = select.POLLOUT


def poll(read, write, exceptional, timeout=None):
    """Wait for sockets, in place of ``select.select``, for any number of
    open files.

    :param list read: sockets, or what else has a ``fileno()``.
    :param list write:
    :param list exceptional: has to be empty.
    :param float timeout: seconds; None for no limit.
    :return: the sockets that can be read or written, three lists.
    """
    poller = select.poll()
    events = {}
    sockets = {}
    for event, several in ((READ, read), (WRITE, write)):
        for each in several:
            number = each.fileno()
            if number < 0:
                raise ValueError(f'{each!r} is closed')
            sockets[number] = each
            events[number] = events.get(number, 0) | event
    for number, event in events.items():
        poller.register(number, event)
    ready = dict(poller.poll(None if timeout is None else timeout * 1000))
    return ([each for each in read if ready.get(each.fileno(), 0) & ~WRITE],
            [each for each in write if ready.get(each.fileno(), 0) & ~READ],
            [])
