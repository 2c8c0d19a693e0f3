"""Labels of a layout that no provider offers because of an error."""

import re

from zuul.model import SEVERITY_ERROR


def findProblems(layout):
    """
    :param Layout layout: of a tenant.
    :return: the name of a label -> what is wrong with the first provider
        that should offer it, and does not for an error; a dict.
    """
    offered = {name for provider in layout.providers.values()
               for name in provider.labels}
    errors = [error for error in layout.loading_errors.errors
              if error.severity == SEVERITY_ERROR and error.key.mark
              and error.key.mark.snippet.lstrip().startswith('provider:')]
    problems = {}
    for name in layout.labels.keys() - offered:
        word = re.compile(rf'(?<![\w-]){re.escape(name)}(?![\w-])')
        # All that is known of such a provider is what people have written.
        for error in errors:
            if word.search(error.key.mark.snippet):
                problems[name] = _describe(error)
                break
    return problems


def _describe(error):
    context, mark = error.key.context, error.key.mark
    where = (f' (project {context.project_canonical_name}, branch '
             f'{context.branch}, {context.path}, line {mark.line + 1})'
             if context else '')
    return f'{" ".join(str(error.short_error).split())}{where}'
