"""Duplicate names: an error that gives the locations of both definitions."""

from zuul.exceptions import ConfigurationSyntaxError

from zuul_nodes.configloader.errors import describeLocation
from zuul_nodes.configloader.rules.access import getCurrent

# Zuul's name of a kind -> the attribute of a layout.
KINDS = {
    'Image': 'images',
    'Flavor': 'flavors',
    'Label': 'labels',
    'Section': 'sections',
    'Provider': 'provider_configs',
}


class DuplicateError(ConfigurationSyntaxError):
    zuul_error_name = 'Duplicate Name'
    zuul_error_problem = 'name that is given twice'


class Duplicates:
    """Layout rule that Zuul asks when it rejects a second definition."""

    def explain(self, error, layout, obj_type, first, second):
        """
        :param Exception error: Zuul's own error.
        :param str obj_type: Zuul's name of the kind; a kind that is not in
            KINDS keeps Zuul's error.
        :param first: the definition that stays.
        :param second: the definition that Zuul rejects.
        :return: the exception to raise instead.
        """
        if obj_type not in KINDS:
            return error
        current = getattr(getCurrent(layout), KINDS[obj_type])
        standing = current.get(first.name, first)
        if not _isSameFile(standing, first):
            standing = first
        if second.source_context.isSameProject(first.source_context) and (
                second.source_context.branch != first.source_context.branch):
            advice = ('In the branches of one project, the definitions must '
                      'be identical')
        else:
            advice = 'Rename or remove one of them'
        return DuplicateError(
            f'{error}: one definition is in {describeLocation(standing)}, the '
            f'other in {describeLocation(second)}. {advice}')


def _isSameFile(one, other):
    one, other = one.source_context, other.source_context
    return (one.isSameProject(other) and one.branch == other.branch
            and one.path == other.path)
