"""How far a reader has to go through the house to follow a request."""

import pathlib
import sys
import threading

from tests.fixtures.racks import cloud, isDone
import zuul_nodes.launcher

HOUSE = pathlib.Path(zuul_nodes.launcher.__file__).parent
# Those that a request passes on its way, apart from the assembly.
ROOMS = {'endpoints', 'images', 'metrics', 'nodes', 'planner', 'providers',
         'requests', 'workers', 'zookeeper'}
# So many files are entered from other rooms at most.
MOST_DOORS = 32


class Footprints:
    """Which files of the launcher are entered from outside their rooms.

    :ivar set doors: paths, from the launcher's folder on.
    """

    def __init__(self):
        self.doors = set()

    def __enter__(self):
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame, event, _):
        if event == 'call' and (path := _getPath(frame)):
            caller = frame.f_back
            while caller and not _getPath(caller):
                caller = caller.f_back
            # What a library or another thread calls is no step of a reader.
            if caller and _getPath(caller).parts[0] != path.parts[0]:
                self.doors.add(path)


def _getPath(frame):
    path = pathlib.Path(frame.f_code.co_filename)
    return path.relative_to(HOUSE) if path.is_relative_to(HOUSE) else None


def serve(launcher):
    request = launcher.addRequest('big')
    launcher.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


def test_a_request_passes_each_room_by_few_doors(steps, racks):
    steps.setLayout(cloud('one', labels='[big]'))
    # What there is to do at first is done.
    serve(steps)
    steps.runUntil(steps.queue.isIdle)
    with Footprints() as footprints:
        serve(steps)
    rooms = {door.parts[0] for door in footprints.doors if door.parts[1:]}
    assert rooms == ROOMS
    assert len(footprints.doors) <= MOST_DOORS, sorted(footprints.doors)
