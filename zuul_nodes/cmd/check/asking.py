"""Ask clouds several questions at a time, each with a time-out."""

from concurrent.futures import ThreadPoolExecutor, wait
import dataclasses
import re

from zuul_nodes import messages
from zuul_nodes.futures import begin

# Number of questions that one endpoint is asked at the same time.
AT_A_TIME = 4
# Options with secret values.  The name of a file that contains a secret and
# the public part of a key pair are not secret.
SECRET = re.compile(
    'password|passphrase|secret|token|(private|api|access)_?key',
    re.IGNORECASE)
PUBLIC = re.compile('(file|path|dir|url|id)$', re.IGNORECASE)
# Shorter values occur in other words by chance.
SHORTEST = 6


@dataclasses.dataclass
class Result:
    """The answer to one question.

    :ivar list providers, objects: names of the providers and objects that use
        the resource, in the order of their first use.
    :ivar str what, name: subject and name of the
        :class:`zuul_nodes.drivers.Check`.
    :ivar str problem: what is wrong with the resource; empty if nothing is.
    :ivar str found: what the name stands for in the cloud; empty if unknown.
    """

    providers: list
    objects: list
    what: str
    name: str
    problem: str
    found: str = ''

    def toDict(self, join=', '.join):
        """
        :param join: makes a string of a list of names.
        :return: column -> text of the cell.
        """
        return {'provider': join(self.providers),
                'object': join(self.objects), 'what': self.what,
                'name': self.name, 'problem': self.problem,
                'found': self.found}


@dataclasses.dataclass
class Report:
    """The answers to all questions.

    :ivar list results: a Result for each question that was asked.
    :ivar dict errors: provider -> why it could not be checked.
    :ivar int left_out: number of questions that were not asked because their
        endpoint is not accessible.
    """

    results: list = dataclasses.field(default_factory=list)
    errors: dict = dataclasses.field(default_factory=dict)
    left_out: int = 0


def ask(providers, timeout, stream, full=False):
    """Check the resources of providers in their clouds.

    :param providers: an iterable of BaseProvider, of any driver.
    :param float timeout: seconds per question.
    :param stream: for progress messages.
    :param bool full: whether only operators read the result.
    :return: a Report.
    """
    show = messages.withoutSecrets if full else messages.forTenants
    report, endpoints = Report(), {}
    for provider in providers:
        try:
            key = provider.getEndpoint().canonical_name
            endpoint = endpoints.setdefault(
                key, Endpoint(provider.connection, stream))
            for check in getChecks(provider, stream):
                endpoint.addCheck(check, provider.name)
        except Exception as error:
            # The questions before the error are asked.
            report.errors[provider.name] = (
                f'the provider "{provider.name}" cannot be checked: '
                + show(_hide(f'{type(error).__name__}: {error}',
                             _getSecrets(provider.connection))))
    for endpoint in endpoints.values():
        endpoint.announce()
    # In threads, so that a cloud without an answer does not delay the others.
    for call in [begin('endpoint', endpoint.ask, timeout)
                 for endpoint in endpoints.values()]:
        call.result()
    report.left_out = sum(
        endpoint.left_out for endpoint in endpoints.values())
    report.results = _merge(endpoints.values(), show)
    return report


def _merge(endpoints, show):
    """:return: a list of Results; the same answer at several endpoints of a
        connection becomes one Result."""
    results = {}
    for endpoint in endpoints:
        hidden = _getSecrets(endpoint.connection)
        for question in endpoint.asked:
            check = question.check
            name = _hide(str(check.name), hidden)
            texts = [show(_hide(text, hidden))
                     for text in (question.problem, question.found)]
            result = results.setdefault(
                (endpoint.connection.connection_name, check.subject, name,
                 *texts), Result([], [], check.subject, name, *texts))
            for names, more in ((result.providers, question.providers),
                                (result.objects, question.objects)):
                names.extend(each for each in more if each not in names)
    return list(results.values())


@dataclasses.dataclass
class Question:
    """A question, and the providers and objects that need the answer.

    :ivar Check check: the first of the checks with this question.
    :ivar dict providers, objects: their names as keys, in order.
    :ivar str problem, found: as of a :class:`Result`.
    :ivar bool has_failed: whether the check failed rather than the cloud, so
        that nothing is known about the cloud.
    """

    check: object
    providers: dict = dataclasses.field(default_factory=dict)
    objects: dict = dataclasses.field(default_factory=dict)
    problem: str = ''
    found: str = ''
    has_failed: bool = False

    def takeAnswer(self, answer):
        """:param answer: that ``ask`` of the check returned, or the exception
            that it raised."""
        from zuul_nodes.drivers import DriverError, Found
        if isinstance(answer, Found):
            self.found = str(answer.name)
        elif isinstance(answer, str | DriverError | None):
            self.problem = str(answer or '')
        elif isinstance(answer, BaseException):
            self.problem = f'{type(answer).__name__}: {answer}'
            self.has_failed = _isMistake(answer)
        else:
            self.problem = f'the answer is no text: {answer!r}'
            self.has_failed = True
        if self.has_failed:
            self.problem = f'Not answered: {self.problem}'


def _isMistake(error):
    """:return: whether an exception is a mistake of a program, which has a
        class of Python itself.  Libraries have classes of their own for the
        answers of clouds; those of the network are subclasses of OSError."""
    return (type(error).__module__ == 'builtins'
            and not isinstance(error, OSError))


class Endpoint:
    """Asks one endpoint each question once.

    :param connection: of the endpoint.
    :param stream: for progress messages.
    :ivar list asked: the questions that were asked, with their answers.
    :ivar int left_out: number of questions that were not asked because the
        endpoint is not accessible.
    """

    def __init__(self, connection, stream):
        self.connection = connection
        self.stream = stream
        self.providers = {}
        self.asked = []
        self.left_out = 0
        # (subject, name, question) -> Question
        self._questions = {}

    def addCheck(self, check, provider_name):
        question = self._questions.setdefault(
            (check.subject, check.name, check.question), Question(check))
        for names, name in ((self.providers, provider_name),
                            (question.providers, provider_name),
                            (question.objects, check.used_by)):
            names[name] = True

    def announce(self):
        names = list(self.providers)
        if not names:
            return
        what = ('the provider ' if len(names) == 1 else 'the providers ')
        self._say(f'Asking {count(len(self._questions), "question")} about '
                  f'{what}{", ".join(names)} ...')

    def ask(self, timeout):
        """:param float timeout: seconds per question."""
        questions = list(self._questions.values())
        steps = [[each] for each in questions if each.check.access]
        steps.append([each for each in questions if not each.check.access])
        for step in steps:
            answers = askAll([each.check.ask for each in step], timeout)
            for each, answer in zip(step, answers, strict=True):
                each.takeAnswer(answer)
            self.asked += step
            if (step is not steps[-1] and step[0].problem
                    and not step[0].has_failed):
                self.left_out = len(questions) - len(self.asked)
                self._say(
                    f'The connection {self.connection.connection_name} gives '
                    f'no access: skipping {count(self.left_out, "question")}.')
                return

    def _say(self, text):
        print(text, file=self.stream, flush=True)


def count(number, noun):
    """:return: the number and the noun, in the plural if needed."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def getChecks(provider, stream):
    """:return: yields the checks of a provider of any driver."""
    if hasattr(provider, 'getChecks'):
        yield from provider.getChecks()
        return
    from zuul_nodes.drivers import Check

    def askList():
        endpoint = provider.getEndpoint()
        endpoint.start()
        list(endpoint.listInstances())
        return ''
    print(f'The driver {provider.driver.name} has no checks. Checking only '
          'whether instances can be listed.', file=stream)
    yield Check('permission', 'list instances',
                f'connection {provider.connection.connection_name}', askList,
                access=True)


def askAll(questions, timeout):
    """Ask questions in parallel, each with its own time-out.

    :param questions: functions that return a problem, what they have found,
        or nothing.
    :param float timeout: seconds per question.
    :return: a list in the order of the questions: of each the answer or its
        exception, or that there is no answer in time, which is a problem.
    """
    def askOne(question):
        call = begin('question', question)
        if not wait([call], timeout).done:
            return f'No answer within {timeout:g} s'
        # A library may even try to end the process.
        return call.exception() or call.result()
    with ThreadPoolExecutor(AT_A_TIME) as executor:
        return list(executor.map(askOne, questions))


def _getSecrets(connection):
    # The longest first, because one may be part of another.
    return sorted((
        str(value) for name, value in connection.connection_config.items()
        if SECRET.search(name) and not PUBLIC.search(name)
        and len(str(value)) >= SHORTEST), key=len, reverse=True)


def _hide(text, secrets):
    for secret in secrets:
        text = text.replace(secret, '***')
    return ' '.join(text.split())
