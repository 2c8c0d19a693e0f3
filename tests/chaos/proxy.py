"""Proxies between launchers and ZooKeeper, whose connections can be broken.

TLS passes through, so they know nothing of what they forward.
"""

import asyncio
import enum
import threading

from zuul_nodes.quickstart import ports

CHUNK = 1 << 16


class Mode(enum.StrEnum):
    """What becomes of the connections of a launcher.

    Of what is held back, nothing is lost: TCP sends it again when the network
    works again.
    """
    WORKING = 'working'
    # Connections break, new ones as well.
    CUT = 'cut'
    # Nothing arrives on either side.
    SILENT = 'silent'
    # The servers get what the launcher sends, and their answers do not arrive.
    MUTED = 'muted'


class Proxy:
    """The connections of one launcher to all servers.

    :param Ensemble ensemble: that has the servers.
    :ivar str hosts: what the launcher connects to.
    """

    def __init__(self, ensemble):
        self.targets = {ports.freePort(): member.port
                        for member in ensemble.members}
        self.hosts = ','.join(f'{ports.LOOPBACK}:{port}'
                              for port in self.targets)
        self.mode = Mode.WORKING
        self._writers = set()
        self._changed = None

    async def listen(self):
        self._changed = asyncio.Condition()
        for port, target in self.targets.items():
            await asyncio.start_server(
                lambda *streams, target=target: self._handle(
                    target, *streams), ports.LOOPBACK, port)

    async def setMode(self, mode):
        async with self._changed:
            self.mode = mode
            if mode == Mode.CUT:
                for writer in self._writers:
                    writer.transport.abort()
            self._changed.notify_all()

    async def _handle(self, target, reader, writer):
        try:
            if self.mode == Mode.CUT:
                return
            there, back = await asyncio.open_connection(
                ports.LOOPBACK, target)
            self._writers |= {writer, back}
            try:
                await asyncio.gather(
                    self._forward(reader, back, {Mode.SILENT}),
                    self._forward(there, writer, {Mode.SILENT, Mode.MUTED}))
            finally:
                self._writers -= {writer, back}
        except OSError:
            # The server is down.
            pass
        finally:
            writer.transport.abort()

    async def _forward(self, reader, writer, stopped_by):
        try:
            while data := await reader.read(CHUNK):
                if self.mode in stopped_by:
                    async with self._changed:
                        await self._changed.wait_for(
                            lambda: self.mode not in stopped_by)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            # This ends the other direction, too.
            writer.transport.abort()


class Proxies:
    """Runs proxies in a thread.

    :param list proxies: all of them.
    """

    def __init__(self, proxies):
        self.proxies = proxies
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self.loop.run_forever, name='proxies', daemon=True)

    def start(self):
        self.thread.start()
        for proxy in self.proxies:
            self._run(proxy.listen())

    def setMode(self, proxy, mode):
        self._run(proxy.setMode(mode))

    def _run(self, coroutine):
        asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
