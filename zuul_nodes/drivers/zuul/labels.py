"""Labels of a layout that no provider offers because of an error."""

import re

from zuul.model import SEVERITY_ERROR


def findProblems(layout):
    """
    :param Layout layout: of a tenant.
    :return: dict, name of a label -> error of the first provider that would
        offer it.
    """
    offered = {name for provider in layout.providers.values()
               for name in provider.labels}
    errors = [error for error in layout.loading_errors.errors
              if error.severity == SEVERITY_ERROR and error.key.mark
              and error.key.mark.snippet.lstrip().startswith('provider:')]
    problems = {}
    for name in layout.labels.keys() - offered:
        word = re.compile(rf'(?<![\w-]){re.escape(name)}(?![\w-])')
        # Only the text of a provider in error is known.
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
