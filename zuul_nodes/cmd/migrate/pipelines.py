"""The pipelines for images, which a tenant has once."""

from zuul_nodes.cmd.migrate.tree import Mapping, Sequence


def make(periods):
    """
    :param dict periods: name of a timer pipeline -> its time.
    :return: list of the stanzas, as Mapping.
    """
    return [
        _make('image-build', 'Builds images that are missing.',
              _onEvent('image-build'), is_secret=True,
              success={'image-built': True}),
        _make('image-validate', 'Validates new uploads of images.',
              _onEvent('image-validate'),
              success={'image-validated': True},
              failure={'image-validated': False}),
        _make('image-delete', 'Deletes the files of images that are not used '
              'any more.', _onEvent('image-delete'), is_secret=True),
        *(_make(name, 'Rebuilds images.', {'timer': Sequence([
            Mapping({'time': time})])}, is_secret=True,
            success={'image-built': True}) for name, time in periods.items()),
    ]


def _onEvent(event):
    return {'zuul': Sequence([Mapping({'event': event})])}


def _make(name, description, trigger, is_secret=False, **reporters):
    pipeline = Mapping({'name': name, 'description': description,
                        'manager': 'independent'})
    if is_secret:
        pipeline['post-review'] = True
    pipeline['trigger'] = Mapping(trigger)
    for result, report in reporters.items():
        pipeline[result] = Mapping({'zuul': Mapping(report)})
    return pipeline
