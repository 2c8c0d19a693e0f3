"""Asking a cloud several things at a time, none of them for ever."""

import collections
import queue
import re
import threading
import time

from zuul_nodes import messages
from zuul_nodes.exceptions import UserError

# Questions that a cloud is asked at a time.
AT_A_TIME = 4
# Options whose values are nobody's business; a file that has one, or the
# public part of a pair, is no secret.
SECRET = re.compile(
    'password|passphrase|secret|token|(private|api|access)_?key',
    re.IGNORECASE)
PUBLIC = re.compile('(file|path|dir|url|id)$', re.IGNORECASE)
# What is shorter is in many a word by chance.
SHORTEST = 6


def ask(provider, timeout, stream, full=False):
    """
    :param BaseProvider provider: of any driver.
    :param float timeout: seconds that each question may take.
    :param stream: where to say how far it is.
    :param bool full: whether only operators read it.
    :return: a list of dictionaries with ``object``, ``what``, ``name`` and
        ``problem``, which is empty if there is none.
    :raises UserError: it is not known what to ask.
    """
    hidden = _getSecrets(provider.connection)
    show = messages.withoutSecrets if full else messages.forTenants
    try:
        checks = list(getChecks(provider, stream))
    except Exception as error:
        raise UserError(
            f'the provider "{provider.name}" can not be asked about: '
            + show(_hide(f'{type(error).__name__}: {error}', hidden))
        ) from None
    print(f'Asking {count(len(checks), "question")} about the provider '
          f'{provider.name} ...', file=stream, flush=True)
    problems = askAll([check.ask for check in checks], timeout)
    return [{'object': check.used_by, 'what': check.subject,
             'name': _hide(str(check.name), hidden),
             'problem': show(_hide(problem, hidden))}
            for check, problem in zip(checks, problems, strict=True)]


def count(number, noun):
    """:return: so many of them, in words."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def getChecks(provider, stream):
    """:return: yields what a provider of any driver can be asked."""
    if hasattr(provider, 'getChecks'):
        yield from provider.getChecks()
        return
    from zuul_nodes.drivers import Check

    def askList():
        endpoint = provider.getEndpoint()
        endpoint.start()
        list(endpoint.listInstances())
        return ''
    print(f'The driver {provider.driver.name} has no checks. All that is '
          'asked is whether instances can be listed.', file=stream)
    yield Check('permission', 'list instances',
                f'connection {provider.connection.connection_name}', askList)


def askAll(questions, timeout):
    """
    :param questions: functions that return a problem, or nothing.
    :return: a list of problems, strings, in the order of the questions.
    """
    problems = [None] * len(questions)
    waiting = collections.deque(enumerate(questions))
    deadlines, answers = {}, queue.Queue()

    def target(index, question):
        try:
            answer = question() or ''
        except Exception as error:
            answer = f'{type(error).__name__}: {error}'
        answers.put((index, answer))
    while waiting or deadlines:
        while waiting and len(deadlines) < AT_A_TIME:
            index, question = waiting.popleft()
            deadlines[index] = time.monotonic() + timeout
            threading.Thread(target=target, args=(index, question),
                             daemon=True).start()
        try:
            index, answer = answers.get(timeout=max(
                0, min(deadlines.values()) - time.monotonic()))
        except queue.Empty:
            index = min(deadlines, key=deadlines.get)
            answer = f'There was no answer within {timeout:g} s'
        # Answers that come too late do not count.
        if deadlines.pop(index, None) is not None:
            problems[index] = answer
    return problems


def _getSecrets(connection):
    # The longest first: one may be part of another.
    return sorted((
        str(value) for name, value in connection.connection_config.items()
        if SECRET.search(name) and not PUBLIC.search(name)
        and len(str(value)) >= SHORTEST), key=len, reverse=True)


def _hide(text, secrets):
    for secret in secrets:
        text = text.replace(secret, '***')
    return ' '.join(text.split())
