"""Repeats a list until the user ends it."""

import sys
import time

from zuul_nodes.exceptions import UserError

# Of terminals: cursor to the top left corner, and clear the screen.
CLEAR = '\x1b[H\x1b[2J'
# Actions that change nothing, None for a command without actions.
READING = (None, 'list', 'show')


def watch(args, refuse, sleep=time.sleep):
    """Run a subcommand again and again.

    :param args: of the subcommand, with ``watch``: seconds between two runs.
    :param refuse: called with a message if the subcommand changes something.
    :param sleep: called with the seconds.
    :return: the exit status: 0 when the user interrupts it, or what the
        subcommand has returned if that is not 0.
    :raises UserError: the first run has failed.  Later ones may fail, for
        example while ZooKeeper restarts.
    """
    action = getattr(args, 'action', None)
    if action not in READING:
        refuse(f'--watch repeats lists, and not the action "{action}"')
    has_run = False
    try:
        while True:
            if sys.stdout.isatty():
                print(CLEAR, end='')
            try:
                if status := args.run(args):
                    return status
            except UserError as error:
                if not has_run:
                    raise
                print(f'{error}. Trying again', file=sys.stderr)
            has_run = True
            sys.stdout.flush()
            sleep(args.watch)
    except KeyboardInterrupt:
        return 0
