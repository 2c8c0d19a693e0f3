"""A Sphinx extension that generates the reference of metrics.

The directive ``metrics`` shows the metrics of a group as ``zuul:stat``, so
that pages can refer to them.
"""

import textwrap

from sphinx.util.docutils import SphinxDirective

from zuul_nodes.launcher.metrics.names import GROUPS


class MetricsDirective(SphinxDirective):
    required_arguments = 1

    def run(self):
        return self.parse_text_to_nodes('\n'.join(
            formatGroup(GROUPS[self.arguments[0]])))


def formatGroup(metrics):
    """:return: yields lines of reStructuredText; metrics of one name, but of
        several kinds, become one object."""
    named = {}
    for metric in metrics:
        named.setdefault(metric.name, []).append(metric)
    for name, same in named.items():
        yield f'.. zuul:stat:: {name}'
        yield f'   :type: {", ".join(metric.kind for metric in same)}'
        yield ''
        text = ' '.join(dict.fromkeys(metric.text for metric in same))
        yield textwrap.indent(text, '   ')
        yield ''


def setup(app):
    app.add_directive('metrics', MetricsDirective)
    return {'parallel_read_safe': True}
