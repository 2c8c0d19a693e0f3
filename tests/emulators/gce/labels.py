"""Labels, and the fingerprints that keep two from changing the same."""

import base64
import binascii
import re

from tests.emulators.gce.core import Refusal, call, makeInvalid

LABEL_KEY = re.compile(r'[^\W\d_][-\w]{0,62}')
LABEL_VALUE = re.compile(r'[-\w]{0,63}')
LABELS = 64


class Labelled:
    """Mixed into collections whose resources have labels."""

    @call('POST', '/{name}/setLabels')
    def setLabels(self, request, **place):
        path = self.getPath(**place)
        resource = self.demand(path)
        given = request.json
        labels = makeLabels(given.get('labels'), 'labels')
        if given.get('labelFingerprint') != resource['labelFingerprint']:
            raise Refusal(412, 'Labels fingerprint either invalid or '
                               'resource labels have changed')
        resource.update(labels)
        return self.gce.jobs.start(f'{self.name}.setLabels', path)


def makeLabels(labels, field='resource.labels'):
    """:return: the fields of a resource that has these labels.

    :raises Refusal: that can't be.
    """
    labels = labels or {}
    if len(labels) > LABELS:
        raise makeInvalid(field, '', f'The number of labels exceeds '
                                     f'{LABELS}.')
    for kind, pattern, texts in (('key', LABEL_KEY, labels),
                                 ('value', LABEL_VALUE, labels.values())):
        for text in texts:
            if not pattern.fullmatch(text) or text != text.lower():
                raise makeInvalid(
                    field, '', f"Label {kind} '{text}' violates format "
                    f'constraints. The {kind} can only contain lowercase '
                    'letters, numeric characters, underscores and dashes. '
                    f'The {kind} can be at most 63 characters long. '
                    'International characters are allowed.')
    return {'labels': labels, 'labelFingerprint': makeFingerprint(labels)}


def makeFingerprint(data):
    return base64.urlsafe_b64encode(
        binascii.crc32(repr(data).encode()).to_bytes(8)).decode()
