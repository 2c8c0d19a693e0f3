"""What goes wrong, and when: a plan that depends on the seed only."""

import dataclasses
import logging
import random
import signal
import time

from tests.chaos import site
from tests.chaos.proxy import Mode
from tests.chaos.world import LAUNCHERS, SESSION_TIMEOUT

# Seconds until a fault begins after the last one of its lane.
PAUSE = (0.5, 4)
# Seconds for which a session survives, and after which it is lost.
SHORT = (1, SESSION_TIMEOUT - 2)
LONG = (SESSION_TIMEOUT + 1, SESSION_TIMEOUT + 6)
log = logging.getLogger('chaos')


@dataclasses.dataclass(frozen=True)
class Fault:
    """
    :ivar int launcher: the number of a launcher, from 0 on.
    """
    launcher: int

    def begin(self, world):
        raise NotImplementedError

    def end(self, world):
        raise NotImplementedError

    def getProcess(self, world):
        return world.launchers[self.launcher]


class Kill(Fault):
    def begin(self, world):
        self.getProcess(world).kill()

    def end(self, world):
        self.getProcess(world).start()


class Restart(Fault):
    def begin(self, world):
        self.getProcess(world).terminate()

    def end(self, world):
        process = self.getProcess(world)
        process.stop(timeout=20)
        process.start()


class Suspend(Fault):
    def begin(self, world):
        world.signal(self.getProcess(world), signal.SIGSTOP)

    def end(self, world):
        world.signal(self.getProcess(world), signal.SIGCONT)


@dataclasses.dataclass(frozen=True)
class Disconnect(Fault):
    mode: Mode

    def begin(self, world):
        world.proxies.setMode(self.getProcess(world).proxy, self.mode)

    def end(self, world):
        world.proxies.setMode(self.getProcess(world).proxy, Mode.WORKING)


@dataclasses.dataclass(frozen=True)
class StepClock(Fault):
    offset: float

    def begin(self, world):
        self.getProcess(world).setClock(self.offset)

    def end(self, world):
        self.getProcess(world).setClock(0)


class ServerFault:
    """
    :param bool is_leader: whether the leading server fails, or another one.
    """

    def __init__(self, is_leader):
        self.is_leader = is_leader
        self.member = None

    def __repr__(self):
        server = 'leader' if self.is_leader else 'follower'
        return f'{self.__class__.__name__}({server})'

    def begin(self, world):
        # ZooKeeper 3.8.0 loses what it has committed if it loses the leader
        # while a server comes back (ZOOKEEPER-4643).
        if not world.ensemble.isComplete():
            log.info('The ensemble is not complete; it is spared')
            return
        leader = world.ensemble.getLeader()
        self.member = leader if self.is_leader else next(
            member for member in world.ensemble.members
            if member is not leader)
        if self.member:
            self.hit(world)

    def end(self, world):
        if self.member:
            self.mend(world)


class KillServer(ServerFault):
    def hit(self, world):
        self.member.process.kill()

    def mend(self, world):
        self.member.start()


class SuspendServer(ServerFault):
    def hit(self, world):
        world.signal(self.member.process, signal.SIGSTOP)

    def mend(self, world):
        world.signal(self.member.process, signal.SIGCONT)


@dataclasses.dataclass(frozen=True)
class CloudFault:
    region: str
    faults: dict

    def begin(self, world):
        world.setFaults(self.region, **self.faults)

    def end(self, world):
        world.setFaults(self.region)


@dataclasses.dataclass(frozen=True)
class Publish:
    """A layout is published, and at the end the original one."""
    tenant: str
    options: dict

    def begin(self, world):
        world.publishSoon(self.tenant, **self.options)

    def end(self, world):
        world.publishSoon(self.tenant)


def _chooseProcessFault(chance):
    cls, = chance.choices((Kill, Suspend, Restart), (5, 4, 1))
    return cls(chance.randrange(LAUNCHERS)), chance.choice(
        (SHORT, LONG, LONG))


def _chooseConnectionFault(chance):
    mode = chance.choice((Mode.CUT, Mode.SILENT, Mode.MUTED))
    return Disconnect(chance.randrange(LAUNCHERS), mode), chance.choice(
        (SHORT, LONG))


def _chooseClockFault(chance):
    offset = chance.choice((-3600, -30, 30, 3600))
    return StepClock(chance.randrange(LAUNCHERS), offset), (3, 10)


def _chooseServerFault(chance):
    cls = chance.choice((KillServer, SuspendServer))
    return cls(chance.random() < 0.7), (3, 7)


def _chooseCloudFault(chance):
    faults = chance.choice((
        {'failing': 0.3}, {'failing': 1}, {'lost': 0.2}, {'lost': 0.5},
        {'hanging': 0.2}, {'full': ['large']}, {'full': ['small', 'solo']}))
    return CloudFault(chance.choice(list(site.REGIONS)), faults), (4, 10)


def _chooseLayoutFault(chance):
    options = chance.choice(({}, {}, {'max_ready_age': 600}))
    return Publish(chance.choice(site.TENANTS), options), (0.5, 3)


# What can go wrong at the same time, and how long there is none of it.
LANES = {_chooseProcessFault: 1, _chooseConnectionFault: 2,
         _chooseClockFault: 2, _chooseServerFault: 3, _chooseCloudFault: 1,
         _chooseLayoutFault: 0.3}


def makePlan(seed, duration):
    """
    :param str seed: decides all of it.
    :param float duration: seconds.
    :return: a list of (seconds, ``begin`` or ``end``, fault), in order.
    """
    plan = []
    for choose, rarity in LANES.items():
        chance = random.Random(f'{seed} {choose.__name__}')
        now = chance.uniform(*PAUSE)
        while now < duration:
            fault, lengths = choose(chance)
            end = min(now + chance.uniform(*lengths), duration)
            plan += [(now, 'begin', fault), (end, 'end', fault)]
            now = end + rarity * chance.uniform(*PAUSE)
    # An entry that begins when another ends comes after it.
    return sorted(plan, key=lambda entry: entry[0])


def run(world, plan):
    """Do what a plan says.  What is mended is not waited for."""
    start = time.monotonic()
    for when, step, fault in plan:
        time.sleep(max(0, start + when - time.monotonic()))
        log.info('%6.2f %s %s', when, step, fault)
        getattr(fault, step)(world)
