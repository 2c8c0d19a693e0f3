"""Access to labels: the labels that nodesets may name.

In a tenant with ``use-nodepool: false``, a nodeset may name a label if the
tenant has a label object of that name, as Zuul requires.  If no provider of
the tenant offers the label, jobs with that nodeset end with NODE_FAILURE.
This is a warning: the project of the nodeset may be shared with tenants whose
providers offer the label, and an error would block changes to that project
here.  In any other tenant, Nodepool provides the labels that no provider
offers.

An alias of an offered label is not sufficient.  An alias lets a request use
an existing node, but Zuul first selects a provider that has the label itself.
"""

from zuul.exceptions import (
    SEVERITY_WARNING,
    ConfigurationSyntaxError,
    LabelNotFoundError,
)

from zuul_nodes.configloader.errors import describe
from zuul_nodes.suggestions import quote, suggest


class UnknownLabelError(LabelNotFoundError):

    def __init__(self, message):
        ConfigurationSyntaxError.__init__(self, message)


class LabelNotOfferedError(UnknownLabelError):
    zuul_error_name = 'Label Not Offered'
    zuul_error_problem = 'label that no provider offers'
    zuul_error_severity = SEVERITY_WARNING


class Access:
    """Layout rule that checks each nodeset of a layout."""

    def checkNodeset(self, nodeset, layout):
        """
        :raises UnknownLabelError: the tenant has no label of a name in the
            nodeset.
        :raises LabelNotOfferedError: no node can have a label of the nodeset.
        """
        if layout.tenant.use_nodepool:
            return
        # For a change under review, the layout as it will be once merged.
        layout = getattr(layout, 'proposed', layout)
        # A warning does not hide an error.
        for name in sorted(nodeset.flattenAlternativeLabels(),
                           key=lambda name: (name in layout.labels, name)):
            if not isOffered(name, layout):
                _raiseError(name, layout)


def isOffered(name, layout):
    """:return: whether a provider of the layout offers the label."""
    return any(name in provider.labels
               for provider in layout.providers.values())


def _raiseError(name, layout):
    """Raise the error for a label that no provider offers.

    Return without an error if a provider is itself in error: that provider
    may offer the label.

    :raises UnknownLabelError: always otherwise.
    """
    known = name in layout.labels
    if known and layout.provider_configs.keys() - layout.providers.keys():
        return
    # Many jobs may use the same label, and searching for similar names is
    # slow.
    messages = vars(layout).setdefault('label_messages', {})
    if name not in messages:
        explain = _explainNotOffered if known else _explainUnknown
        messages[name] = explain(name, layout)
    error = LabelNotOfferedError if known else UnknownLabelError
    raise error(messages[name])


def getCurrent(layout):
    """Return the layout that messages about other objects must refer to.

    Zuul blames a change for every error whose text is new.  A message that
    mentions other objects therefore describes them as they are without the
    change.

    :return: the tenant's layout, or the one that it is about to get.
    """
    return layout.tenant.layout or layout


def _explainUnknown(name, layout):
    offered = {label for provider in getCurrent(layout).providers.values()
               for label in provider.labels}
    return f'The label {quote(name)} was not found. {suggest(name, offered)}'


def _explainNotOffered(name, layout):
    current = getCurrent(layout)
    label = current.labels.get(name, layout.labels[name])
    providers = ', '.join(
        f'"{provider}"' for provider in sorted(current.providers))
    if providers:
        advice = f'Attach it to one of: {providers}'
    else:
        advice = 'Add a provider that offers it: this tenant has none'
    return (f'The {describe(label)} exists, but no provider of this tenant '
            f'offers it. {advice}')
