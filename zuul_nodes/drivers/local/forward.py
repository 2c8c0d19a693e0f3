"""Run a command in a network of its own, and forward connections to it.

The launcher starts this as a program, in a network namespace that has
loopback and nothing else: ``forward.py DESCRIPTOR PORT COMMAND...``.
DESCRIPTOR is a bound socket of the machine's network, which this program
cannot reach otherwise.  Each connection to the socket is copied to and from
PORT in the namespace; there are no connections in the other direction.

The command never gets DESCRIPTOR, nor a connection that came through it: a
process can connect a socket again, and the network of a socket is the one in
which it was created.  The command is a sandbox, inside of which this process
is not visible.

The program imports the standard library only, because the user who runs nodes
may be unable to read other libraries.  It ends with the command, and has its
exit status.
"""

import asyncio
import functools
import socket
import sys

ADDRESS = '127.0.0.1'
BLOCK_SIZE = 1 << 16


async def _copy(reader, writer):
    while block := await reader.read(BLOCK_SIZE):
        writer.write(block)
        await writer.drain()
    writer.write_eof()


async def _forward(port, reader, writer):
    writers = [writer]
    try:
        inner_reader, inner_writer = await asyncio.open_connection(
            ADDRESS, port)
        writers.append(inner_writer)
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(reader, inner_writer))
            group.create_task(_copy(inner_reader, writer))
    except* OSError:
        # One end is closed, so close the other one as well.
        for each in writers:
            each.transport.abort()
    finally:
        for each in writers:
            each.close()


async def main(descriptor, port, *command):
    listener = socket.socket(fileno=int(descriptor))
    listener.set_inheritable(False)
    server = await asyncio.start_server(
        functools.partial(_forward, int(port)), sock=listener)
    # Pass on the other inherited descriptors that bubblewrap reads.
    process = await asyncio.create_subprocess_exec(*command, close_fds=False)
    status = await process.wait()
    # Do not wait for open connections.
    server.close()
    return status


if __name__ == '__main__':
    sys.exit(asyncio.run(main(*sys.argv[1:])))
