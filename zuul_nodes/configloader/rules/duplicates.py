"""Two definitions of the same name: an error that says where both are."""

from zuul.exceptions import ConfigurationSyntaxError

from zuul_nodes.configloader.errors import describePlace
from zuul_nodes.configloader.rules.access import getCurrent

# What Zuul calls it -> where a layout has it.
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
    """The rule that Zuul asks when it refuses a second definition."""

    def explain(self, error, layout, obj_type, first, second):
        """
        :param Exception error: what Zuul says about it.
        :param str obj_type: one of KINDS, or another that is no concern
            of ours.
        :param first: the definition that stands.
        :param second: the one that is refused.
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
            advice = 'Rename one of them, or take it out'
        return DuplicateError(
            f'{error}: there is one in {describePlace(standing)}, and one '
            f'in {describePlace(second)}. {advice}')


def _isSameFile(one, other):
    one, other = one.source_context, other.source_context
    return (one.isSameProject(other) and one.branch == other.branch
            and one.path == other.path)
