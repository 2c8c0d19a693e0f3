"""What clouds have answered to what labels need."""

import typing

from zuul_nodes.launcher.providers import getAttempts


class Silence(typing.NamedTuple):
    """A cloud does not say what a label needs.

    :ivar str problem: for people, why; None if it was not asked yet.
    :ivar int attempts: how often it was asked in vain.  When that is as
        often as a provider tries to make a node, there is no answer: those
        who wait for the label are told so.
    """
    problem: str | None = None
    attempts: int = 0


UNASKED = Silence()


class Answers:
    """What the clouds of this launcher's endpoints have answered."""

    def __init__(self):
        # Endpoint -> the id of each provider that it was asked for -> that
        # provider, and its labels: None if there was an answer, or a
        # Silence.
        self._asked = {}
        # Endpoint -> what keeps us from looking after it.
        self._problems = {}

    def note(self, endpoint, answers):
        """A cloud has been asked.

        :param list answers: pairs of a provider and what was answered: name
            of a label -> None, or a Silence.
        """
        # Not by name: those of a new layout are others.
        self._asked[endpoint.canonical_name] = {
            id(provider): (provider, labels) for provider, labels in answers}

    def noteProblem(self, endpoint, problem):
        """
        :param str problem: what keeps us from looking after an endpoint, for
            people; None if nothing does.
        :return: whether it was not known.
        """
        name = endpoint.canonical_name
        if problem is None:
            return self._problems.pop(name, None) is not None
        if self._problems.get(name) == problem:
            return False
        self._problems[name] = problem
        return True

    def forget(self, endpoint_name):
        self._asked.pop(endpoint_name, None)
        self._problems.pop(endpoint_name, None)

    def getFormer(self, endpoint, provider, label_name):
        """:return: how often a cloud was asked in vain so far."""
        former = (self._get(endpoint, provider) or {}).get(label_name)
        return (former or UNASKED).attempts

    def isAsked(self, provider, label_name=None):
        """
        :param str label_name: None if it is enough to have asked, whatever
            was answered.
        :return: whether a cloud has answered all that could be asked of
            it for a provider and a label.
        """
        try:
            endpoint = provider.getEndpoint()
        except Exception:
            return True
        labels = self._get(endpoint, provider)
        if labels is None or label_name is None:
            return labels is not None
        answer = labels.get(label_name, UNASKED)
        return answer is None or answer.attempts >= getAttempts(provider)

    def getProblem(self, provider, label_name):
        """
        :return: for people, why it is not known what a label needs; None if
            it is, or if the cloud is only about to be asked.
        """
        try:
            endpoint = provider.getEndpoint()
        except Exception:
            return None
        name = endpoint.canonical_name
        if problem := self._problems.get(name):
            return f'endpoint {name}: {problem}'
        if not endpoint.started:
            return f'endpoint {name} is being started'
        labels = self._get(endpoint, provider) or {}
        return (labels.get(label_name) or UNASKED).problem

    def _get(self, endpoint, provider):
        """:return: name of a label -> what was answered; None if the cloud
            was not asked."""
        _, labels = self._asked.get(endpoint.canonical_name, {}).get(
            id(provider), (None, None))
        return labels
