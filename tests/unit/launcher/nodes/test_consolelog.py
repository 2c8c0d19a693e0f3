"""What nodes that do not come up have written last."""

import pytest

from tests.fixtures.settings import writeSettings
from zuul_nodes.drivers import TemporaryError
from zuul_nodes.drivers.fake import FakeAdapter
from zuul_nodes.quickstart import ports

CONFIGURATION = '''
- image: {{name: image, type: cloud}}
- flavor: {{name: small}}
- label: {{name: label, image: image, flavor: small}}
- section:
    name: section
    connection: fake
    launch-timeout: {launch_timeout}
    launch-attempts: 1
    images: [image]
    flavors: [small]
- provider:
    name: provider
    section: section
    images: [image]
    labels: [{{name: label, boot-timeout: 1, console-log: {console_log},
               host-key-checking: {checking}}}]
'''
SAID = 'Booting\n  Kernel panic:\n\n no init found\n'


@pytest.fixture
def fail(zuul_conf, launchFake, caplog):
    """:return: a function that asks for a node which does not come up, and
        gives what is said of that."""
    writeSettings(zuul_conf, host_key_retry=0.1)

    def fail(create_delay=0, console_log='true', checking='true',
             launch_timeout=60):
        launcher = launchFake(port=str(ports.freePort()),
                              create_delay=str(create_delay))
        launcher.setLayout(CONFIGURATION.format(
            console_log=console_log, checking=checking,
            launch_timeout=launch_timeout))
        request = launcher.addRequest('label')
        launcher.runUntil(lambda: request.state == request.State.FAILED)
        return caplog.text
    return fail


@pytest.fixture
def say(monkeypatch):
    monkeypatch.setattr(FakeAdapter, 'getConsoleLog', lambda *args: SAID)


def test_a_node_that_nobody_can_connect_to(fail, say):
    said = fail()
    assert SAID.rstrip() in said
    # Why the request has failed.
    assert 'its console ends with: Kernel panic: no init found' in said


def test_a_node_that_is_not_there_in_time(fail, say):
    said = fail(create_delay=600, checking='false', launch_timeout=1)
    assert 'not created in 1 seconds; its console ends with' in said


def test_nobody_wants_to_know(fail, say):
    assert 'Kernel panic' not in fail(console_log='false')


def test_the_cloud_does_not_say(fail, monkeypatch):
    def refuse(*args):
        raise TemporaryError('not now')
    monkeypatch.setattr(FakeAdapter, 'getConsoleLog', refuse)
    said = fail()
    assert 'Unable to read the console' in said
    assert 'its console ends' not in said


@pytest.mark.parametrize('said', [7, b'Booting'])
def test_the_cloud_says_something_else(fail, monkeypatch, said):
    """A driver that is not as it should be keeps nobody waiting."""
    monkeypatch.setattr(FakeAdapter, 'getConsoleLog', lambda *args: said)
    assert 'its console ends' not in fail()
