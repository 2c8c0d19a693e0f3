"""Requests that need a provider which the launcher can't read."""

import contextlib

import pytest
from zuul.provider import BaseProvider

from tests.fixtures.racks import addProvider, cloud
from tests.fixtures.shelf.shelf_maker import ShelfProvider

PATH = '/zuul/tenant/tenant/provider/example.com%2Fnodes/one/config'
# How a provider is spoilt -> what is said of it.
PROBLEMS = {
    'record': f': its record at {PATH} is broken',
    'nothing': f': its record at {PATH} is broken',
    'driver': ': its driver shelf is not installed',
    'connection': ': there is no connection rack in its zuul.conf',
    'configuration': ': it is too big',
}


@contextlib.contextmanager
def spoil(launcher, what):
    """Write a layout, and have its provider ``one`` be unreadable when the
    launcher reads it."""
    good = ShelfProvider.parseFlavor

    def parseFlavor(provider, *args):
        if provider.canonical_name.endswith('/one'):
            raise ValueError('it is too big')
        return good(provider, *args)
    client = launcher.zk_client.client
    with pytest.MonkeyPatch.context() as context:
        if what == 'record':
            for shard in client.get_children(PATH):
                client.set(f'{PATH}/{shard}', b'garbage')
        elif what == 'nothing':
            # A scheduler has been killed while it wrote it.
            client.delete(PATH, recursive=True)
        elif what == 'driver':
            context.delitem(BaseProvider._subclasses, b'shelf')
        elif what == 'connection':
            context.delitem(launcher.connections.connections, 'rack')
        else:
            context.setattr(ShelfProvider, 'parseFlavor', parseFlavor)
        yield


def read(launcher, text, what):
    launcher.writeLayout(text)
    with spoil(launcher, what):
        launcher.runUntilRead()


@pytest.mark.parametrize('what', PROBLEMS)
def test_request_waits_for_unreadable_provider_with_a_reason(
        steps, racks, log, what):
    read(steps, cloud('one'), what)
    request = steps.addRequest('big')
    reason = steps.waitForReason(request)
    assert reason.startswith(
        'No provider can serve it. Label big: one: this launcher cannot '
        'read this provider of project example.com/nodes' + PROBLEMS[what])
    assert f'Request {request.uuid} waits: {reason}' in log.text
    # It is as good as another one when it can be read.
    steps.setLayout(cloud('one'))
    assert steps.servedBy(request) == ['one']


@pytest.mark.parametrize('what', PROBLEMS)
def test_request_for_unreadable_provider_fails_in_the_end(steps, log, what):
    steps.request_waits.unhandled_timeout = 0.2
    read(steps, cloud('one'), what)
    request = steps.addRequest('big')
    assert PROBLEMS[what] in steps.waitForReason(request)
    steps.fail(request)
    message, = (each for each in log.messages if 'Marking request' in each)
    assert 'example.com/nodes' + PROBLEMS[what] in message
    assert message.endswith('; waited 0.2 seconds')


@pytest.mark.parametrize('what', ['driver', 'connection', 'configuration'])
def test_request_for_label_that_unreadable_provider_lacks_fails(
        steps, log, what):
    read(steps, cloud('one', labels='[other]'), what)
    steps.fail(steps.addRequest('big'))
    assert 'Label big: no provider of tenant tenant has it' in log.text
    steps.fail(steps.addRequest('big', 'other'))


def test_requests_that_readable_provider_can_serve_are_served(steps, racks):
    text = cloud('one', labels='[other]') + addProvider('two', '[big]')
    read(steps, text, 'configuration')
    request = steps.addRequest('big', 'other')
    assert 'Label other: one: ' in steps.waitForReason(request)
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    steps.setLayout(text)
    assert steps.servedBy(request) == ['two', 'one']


def test_request_waits_when_readable_provider_lacks_quota(steps, log):
    """A provider without the label would not help."""
    read(steps, cloud('one', labels='[other]') + addProvider(
        'two', '[big]', resource_limits='{instances: 1}'), 'configuration')
    steps.fail(steps.addRequest('big', 'big'))
    assert 'has no capacity for it beside the others' in log.text


def test_request_waits_when_readable_provider_has_given_up(steps, racks, log):
    """The unreadable provider may do better."""
    racks.errors['two'] = RuntimeError('no boot')
    text = cloud('one') + addProvider('two', launch_attempts=1)
    read(steps, text, 'configuration')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.created)
    reason = steps.waitForReason(request)
    assert 'two: gave up after 1 attempts' in reason
    assert PROBLEMS['configuration'] in reason
    steps.setLayout(text)
    assert steps.servedBy(request) == ['one']
