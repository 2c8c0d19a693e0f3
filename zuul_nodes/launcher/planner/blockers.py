"""Finds out why a provider cannot serve a label now, or ever."""

import functools
from typing import NamedTuple

from zuul.model import NodesetRequest
from zuul.provider import BaseProvider

from zuul_nodes import requestnotes
from zuul_nodes.launcher.planner.capacity import Capacity
from zuul_nodes.launcher.planner.limits import withProblem
from zuul_nodes.launcher.planner.pauses import Pauses
from zuul_nodes.launcher.planner.reasons import Obstacle, Reason
from zuul_nodes.launcher.planner.surroundings import IsAsked, Surroundings
from zuul_nodes.launcher.providers import (
    Subject,
    describe,
    describeUnhandled,
    getSubject,
    isGiven,
)

NO_IMAGE = Obstacle(Reason.NO_IMAGE, 'has no image for the label')
BEING_PREPARED = 'is being prepared'


class Refusal(NamedTuple):
    """Why requests do not wait for a provider that fails.

    :ivar is_lasting: whether it has failed for long; if not, only requests do
        not wait for which Zuul then requests an alternative.
    :ivar is_over: whether the pause after the last failure is over: then
        requests do not wait that have failed there; others try it once.
    """
    reason: str
    is_lasting: bool = True
    is_over: bool = False


class Blockers:
    """Finds out why a provider cannot serve a label now, or ever.

    :param capacity: knows the quota of nodes.
    :param pauses: of providers and labels.
    :param surroundings: of the planner.
    :ivar images: a provider and a label -> why it has no image now, or None;
        the planner forgets them when images have changed.
    :ivar refusals: provider, or label there -> why no request waits for it.
    """

    def __init__(self, capacity: Capacity, pauses: Pauses,
                 surroundings: Surroundings) -> None:
        self.capacity = capacity
        self.pauses = pauses
        self.refusals: dict[Subject, Refusal] = {}
        self.images: dict[tuple[BaseProvider, str], str | None] = {}
        self.canUse = surroundings.canUse
        self.hasImage = surroundings.hasImage
        self.isHandled = surroundings.isHandled
        self.serves = surroundings.serves
        self.isAsked = (
            None if surroundings.isAsked is None
            else functools.partial(self._isAsked, surroundings.isAsked))
        self._getProblem = surroundings.getProblem

    def _isAsked(self, isAnswered: IsAsked, provider: BaseProvider,
                 label_name: str | None = None) -> bool:
        serves = self.serves(provider)
        if serves and isAnswered(provider, label_name):
            return True
        if label_name is None or (serves and not isAnswered(provider)):
            return not serves
        # What this launcher cannot find out, another one may publish.
        return self.capacity.limits.getCharges(
            provider, label_name) is not None

    def getProblem(self, provider: BaseProvider,
                   label_name: str) -> str | None:
        """:return: why the quota of a label's nodes is unknown; None if the
            cause is unknown."""
        if self.serves(provider):
            return self._getProblem(provider, label_name)
        return withProblem(
            'another launcher has not determined the quota of a node yet',
            self.capacity.limits.getProblem(provider, label_name))

    def getRefusal(self, request: NodesetRequest, provider: BaseProvider,
                   label_name: str, has_failed: bool) -> Obstacle | None:
        """
        :param has_failed: whether a launch for the request has failed there.
        :return: why a provider can never launch a node of the label; None if
            it can.
        """
        if not self.canUse(request, provider, label_name):
            return NO_IMAGE
        if refusal := self._findRefusal(
                request, provider, label_name, has_failed):
            return refusal
        if (self.isAsked and self.isAsked(provider, label_name)
                and self.capacity.limits.getCharges(
                    provider, label_name) is None):
            return Obstacle(Reason.UNKNOWN_QUOTA, withProblem(
                'cannot determine the quota of a node',
                self.getProblem(provider, label_name)
                or self.capacity.limits.getProblem(provider, label_name)))
        return None

    def _findRefusal(self, request: NodesetRequest, provider: BaseProvider,
                     label_name: str, has_failed: bool) -> Obstacle | None:
        # Seldom are there any.
        if not self.refusals:
            return None
        subject = getSubject(provider, label_name)
        for each in (subject.whole, subject):
            refusal = self.refusals.get(each)
            if refusal and (has_failed or not refusal.is_over) and (
                    refusal.is_lasting
                    or requestnotes.hasAlternative(request)):
                return Obstacle(
                    Reason.PAUSED, f'is paused: {refusal.reason}')
        return None

    def getObstacle(self, request: NodesetRequest, provider: BaseProvider,
                    label_name: str, has_failed: bool) -> Obstacle | None:
        """
        :param has_failed: as of :meth:`getRefusal`.
        :return: why a provider cannot launch a node for a request now; None
            if it can.
        """
        if not self.canUse(request, provider, label_name):
            return NO_IMAGE
        if missing := self._findMissing(request, provider, label_name):
            return Obstacle(Reason.NO_IMAGE, missing)
        return self.getPause(provider, label_name) or self._findRefusal(
            request, provider, label_name, has_failed)

    def _findMissing(self, request: NodesetRequest, provider: BaseProvider,
                     label_name: str) -> str | None:
        """:return: for people, why a provider has no image for a request now;
            None if it has."""
        key = provider, label_name
        # Each validation has another one.
        is_any = not request.image_upload_uuid
        if is_any and key in self.images:
            return self.images[key]
        try:
            has_image = self.hasImage(request, provider, label_name)
        except Exception as error:
            # Only where its images are is unknown; other providers go on.
            return f'cannot tell where it has images: {describe(error)}'
        missing = None if has_image else (
            'has no usable upload of the image '
            + provider.labels[label_name].image)
        if is_any:
            self.images[key] = missing
        return missing

    def getState(self, provider: BaseProvider) -> tuple[object, ...]:
        """:return: what of a provider, besides its limits, may keep requests
            waiting; it is compared only."""
        return (self.isMaking(provider), *(
            (self.isAsked is None or self.isAsked(provider, label_name),
             self.getProblem(provider, label_name))
            for label_name in provider.labels))

    def isMaking(self, provider: BaseProvider) -> bool:
        """:return: whether the provider's nodes are static, or a running
            launcher handles its connection."""
        return (isGiven(provider.driver)
                or self.isHandled(provider.connection_name))

    def describePreparing(self, provider: BaseProvider,
                          label_name: str) -> str | None:
        """:return: text about a provider whose cloud has not been asked yet
            for what a label needs; None if it has been."""
        if self.isAsked and not self.isAsked(provider, label_name):
            return withProblem(
                BEING_PREPARED, self.getProblem(provider, label_name))
        return None

    def getPause(self, provider: BaseProvider,
                 label_name: str) -> Obstacle | None:
        """:return: why a provider cannot launch a node now; None if it can."""
        if isGiven(provider.driver):
            held = self.capacity.countHeldOf(provider, label_name)
            return Obstacle(Reason.NO_FREE_NODE, 'no node is free' + (
                f'; {held} on hold or not answering' if held else ''))
        if pause := self.pauses.get(getSubject(provider, label_name)):
            return Obstacle(Reason.PAUSED, f'is paused: {pause.reason}')
        if not self.isMaking(provider):
            return Obstacle(Reason.NO_LAUNCHER, describeUnhandled(
                [provider.connection_name]))
        if preparing := self.describePreparing(provider, label_name):
            return Obstacle(Reason.PREPARING, preparing)
        if self.capacity.limits.getCharges(provider, label_name) is None:
            return Obstacle(Reason.UNKNOWN_QUOTA, withProblem(
                'the quota of a node is not known',
                self.capacity.limits.getProblem(provider, label_name)))
        if self.capacity.getSpare(provider, label_name):
            return Obstacle(Reason.LAUNCHING, 'slots are being launched')
        return None
