"""The clouds' answers about the quota that labels need."""

import typing

from zuul_nodes.launcher.providers import getAttempts


class NoAnswer(typing.NamedTuple):
    """A cloud has not answered which quota a label needs.

    :ivar str problem: why, for people; None if the cloud has not been asked.
    :ivar int attempts: number of failed attempts.  When it reaches the number
        of launch attempts of the provider, the launcher gives up and requests
        for the label get the problem as their reason.
    """
    problem: str | None = None
    attempts: int = 0


NOT_ASKED = NoAnswer()


class Answers:
    """What the clouds of this launcher's endpoints have answered."""

    def __init__(self):
        # Endpoint -> id of a provider -> that provider, and a dict of label
        # name -> None if the cloud has answered, or a NoAnswer.
        self._asked = {}
        # Endpoint -> why this launcher cannot prepare it.
        self._problems = {}

    def noteAnswers(self, endpoint, answers):
        """Record the answers of a cloud.

        :param list answers: pairs of a provider and a dict of label name ->
            None if the cloud has answered, or a NoAnswer.
        """
        # By id, because a provider of a new layout may have the same name.
        self._asked[endpoint.canonical_name] = {
            id(provider): (provider, labels) for provider, labels in answers}

    def noteProblem(self, endpoint, problem):
        """Record why this launcher cannot prepare an endpoint.

        :param str problem: for people; None if there is no problem.
        :return: whether this is new.
        """
        name = endpoint.canonical_name
        if problem is None:
            return self._problems.pop(name, None) is not None
        if self._problems.get(name) == problem:
            return False
        self._problems[name] = problem
        return True

    def forgetEndpoint(self, endpoint_name):
        self._asked.pop(endpoint_name, None)
        self._problems.pop(endpoint_name, None)

    def getAttemptsSoFar(self, endpoint, provider, label_name):
        """:return: number of failed attempts to ask a cloud for a label."""
        former = (self._get(endpoint, provider) or {}).get(label_name)
        return (former or NOT_ASKED).attempts

    def isAsked(self, provider, label_name=None):
        """Tell whether planning can rely on what is known of a provider.

        :param str label_name: None to ask only whether the cloud was asked,
            with or without success.
        :return: whether a cloud has answered for a provider and a label, or
            the launcher has given up asking.
        """
        try:
            endpoint = provider.getEndpoint()
        except Exception:
            return True
        labels = self._get(endpoint, provider)
        if labels is None or label_name is None:
            return labels is not None
        answer = labels.get(label_name, NOT_ASKED)
        return answer is None or answer.attempts >= getAttempts(provider)

    def getProblem(self, provider, label_name):
        """
        :return: why the quota of a label is not known, for people; None if
            it is known, or if the launcher has not asked yet.
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
        return (labels.get(label_name) or NOT_ASKED).problem

    def _get(self, endpoint, provider):
        """:return: label name -> None or a NoAnswer; None if the launcher has
            not asked."""
        _, labels = self._asked.get(endpoint.canonical_name, {}).get(
            id(provider), (None, None))
        return labels
