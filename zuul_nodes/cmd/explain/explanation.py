"""The explanation of a node's attributes, as a table or as data."""

import json

from zuul.exceptions import ConfigurationSyntaxError
from zuul.lib import yamlutil

from zuul_nodes.cmd.common import output
from zuul_nodes.cmd.common.choice import findError
from zuul_nodes.configloader.errors import (
    getKind,
    getLineNumber,
)
from zuul_nodes.configloader.plain import Replacement
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest

# Characters.  Together, the table is at most 120 wide.
WIDTHS = {'attribute': 23, 'value': 27, 'set by': 32, 'overrides': 25}
# Maximum length of a value in the table; JSON has the whole value.
LONG, SHORT = 150, 70
# Attributes that identify sections and providers.
IDENTITY = frozenset({'name', 'parent', 'abstract', 'section'})
# Wide enough that the YAML emitter never breaks a line; the table does.
ONE_LINE = 10 ** 6


class Explained:
    """The explanation of one label of one provider.

    :param Tenant tenant: with its layout.
    :param dict connections: name -> connection
    :param str provider_name: a provider of the tenant.
    :param str label_name: a label of the provider.
    :raises UserError: the tenant does not have the provider, the provider
        does not have the label, or the provider is in error.
    """

    def __init__(self, tenant, connections, provider_name, label_name):
        layout = tenant.layout
        message = findError(layout, provider_name)
        if message:
            raise UserError(
                f'the provider "{provider_name}" of the tenant '
                f'"{tenant.name}" is in error: {message}')
        if provider_name not in layout.provider_configs:
            raise UserError(
                f'the tenant "{tenant.name}" has no provider '
                f'"{provider_name}". '
                f'{suggest(provider_name, layout.provider_configs)}')
        self.tenant = tenant
        self.provider_config = layout.provider_configs[provider_name]
        try:
            self.flattening = self.provider_config.getFlattening(
                layout, connections)
            self.explanations = [
                explanation
                for explanation in self.flattening.explain(label_name)
                if explanation.attribute not in IDENTITY]
            self.sections = self.provider_config.getSections(layout)
        except ConfigurationSyntaxError as error:
            raise UserError(' '.join(str(error).split())) from error
        # The objects that entries within sections refer to.
        self.parts = {'label': label_name} | {
            kind: self.flattening.parts.label[label_name].structure.get(kind)
            for kind in ('image', 'flavor')}

    def getData(self):
        """:return: a list of plain dicts, one for each attribute."""
        return [{
            'attribute': explanation.attribute,
            'value': explanation.value,
            'settings': [{
                'level': str(source.level),
                'kind': getKind(source.origin),
                'name': source.origin.name,
                'project': context.project_canonical_name,
                'branch': context.branch,
                'file': context.path,
                'line': getLineNumber(source.origin, source.line),
                'value': value,
            } for source, value in explanation.settings
                for context in [source.origin.source_context]],
        } for explanation in self.explanations]

    def getText(self):
        """:return: a header about the label, and the table."""
        projects = {_getProject(source) for explanation in self.explanations
                    for source, _ in explanation.settings}
        header = {
            'Tenant': self.tenant.name,
            'Provider': self.provider_config.name,
            'Section': ' -> '.join(
                section.name for section in self.sections),
            'Label': self.parts['label'],
            'Image': self.parts['image'] or '(none)',
            'Flavor': self.parts['flavor'] or '(none)',
            'Driver': self.flattening.driver.name,
        }
        if len(projects) == 1:
            header['Project'], = projects
        rows = [self._getRow(explanation, len(projects) > 1)
                for explanation in self.explanations]
        width = max(map(len, header)) + 1
        return '\n'.join([
            *(f'{name + ":":{width}} {value}'
              for name, value in header.items()),
            output.formatTable(list(WIDTHS), rows, WIDTHS)])

    def _getRow(self, explanation, with_project):
        settings = list(reversed(explanation.settings))
        count = countMerged([value for _, value in settings])

        def describe(source):
            lines = [self._describeLevel(source),
                     f'{source.origin.source_context.path}:'
                     f'{getLineNumber(source.origin, source.line)}']
            if with_project:
                lines.append(_getProject(source))
            return '\n'.join(lines)

        def itemize(several):
            return '\n'.join(f'{shorten(value, SHORT)}\n{describe(source)}'
                             for source, value in several)
        if count == 1:
            set_by = describe(settings[0][0])
        else:
            set_by = 'merged from\n' + itemize(settings[:count])
        return (explanation.attribute, shorten(explanation.value, LONG),
                set_by, itemize(settings[count:]))

    def _describeLevel(self, source):
        """:return: for example ``image "debian" within section "s"``."""
        level, origin = str(source.level), source.origin
        where = f'{getKind(origin)} "{origin.name}"'
        if level.endswith('-defaults'):
            return f'{level} of {where}'
        part, within, _ = level.partition(' in ')
        return (f'{part} "{self.parts[part]}" within {where}' if within
                else where)


def countMerged(values):
    """
    :param list values: the settings of one attribute, the strongest first.
    :return: the number of settings that contribute to the final value; they
        override the others.
    """
    kind = next((kind for kind in (dict, list)
                 if isinstance(values[0], kind)), None)
    if kind is None:
        return 1
    for count, value in enumerate(values):
        if not isinstance(value, kind):
            return count
        if isinstance(value, Replacement):
            return count + 1
    return len(values)


def shorten(value, length):
    """:return: the value as YAML in one line, truncated if necessary."""
    # A plain copy, so that YAML does not emit anchors and aliases.
    text = yamlutil.safe_dump(
        json.loads(json.dumps(value)), default_flow_style=True,
        sort_keys=False, allow_unicode=True, width=ONE_LINE)
    text = text.removesuffix('...\n').strip()
    if '\n' in text:
        # YAML cannot write a multi-line string in one line.
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= length else f'{text[:length - 4]} ...'


def _getProject(source):
    context = source.origin.source_context
    return f'{context.project_canonical_name}, branch {context.branch}'
