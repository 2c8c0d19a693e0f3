import os
import subprocess

import psutil

from zuul_nodes.quickstart import leftovers


def start(run, command):
    return subprocess.run(
        ['/bin/sh', '-c', command], check=True, text=True,
        stdout=subprocess.PIPE,
        env=os.environ | {leftovers.VARIABLE: run}).stdout


def test_ends_daemons_of_the_run_and_nobody_else():
    ours, other = leftovers.newRun(), leftovers.newRun()
    daemon = 'setsid sleep 1000 >/dev/null & echo $!'
    daemons = [psutil.Process(int(start(ours, daemon))) for _ in range(2)]
    stranger = psutil.Process(int(start(other, daemon)))
    try:
        assert set(leftovers.find(ours)) == set(daemons)
        leftovers.end(ours)
        assert not leftovers.find(ours)
        assert leftovers.find(other) == [stranger]
    finally:
        leftovers.end(other)
    assert not leftovers.find(other)


def test_the_one_who_asks_is_spared(monkeypatch):
    run = leftovers.newRun()
    monkeypatch.setenv(leftovers.VARIABLE, run)
    leftovers.end(run)
