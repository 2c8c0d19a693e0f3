"""Which labels nodesets may name.

In a tenant with ``use-nodepool: false`` a label is known if there is a
label object of that name and a provider of the tenant offers it.  Zuul
itself is content with the label object, and the job then ends with
NODE_FAILURE.  In any other tenant the labels that no provider offers are
Nodepool's.

That a label is an alias of one that is offered is not enough: an alias
lets a request take a node that is there, but Zuul first chooses the
provider for it, among those that have the label itself.
"""

from zuul.exceptions import ConfigurationSyntaxError, LabelNotFoundError

from zuul_nodes.configloader.errors import describe
from zuul_nodes.suggestions import quote, suggest


class UnknownLabelError(LabelNotFoundError):

    def __init__(self, message):
        ConfigurationSyntaxError.__init__(self, message)


class LabelNotOfferedError(UnknownLabelError):
    zuul_error_name = 'Label Not Offered'
    zuul_error_problem = 'label that no provider offers'


class Access:
    """The rule that Zuul asks about each nodeset of a layout."""

    def checkNodeset(self, nodeset, layout):
        """
        :raises UnknownLabelError: it has a label which no node can have.
        """
        if layout.tenant.use_nodepool:
            return
        # Of a change under review, what it comes to when it has merged.
        layout = getattr(layout, 'proposed', layout)
        for name in sorted(nodeset.flattenAlternativeLabels()):
            if not isOffered(name, layout):
                _raiseError(name, layout)


def isOffered(name, layout):
    """:return: whether a provider of the layout has the label."""
    return any(name in provider.labels
               for provider in layout.providers.values())


def _raiseError(name, layout):
    """:raises UnknownLabelError: always, but where a provider is an error
        itself, which may well be the one that offers the label."""
    known = name in layout.labels
    if known and layout.provider_configs.keys() - layout.providers.keys():
        return
    # Many jobs may have the same label, and to find what is like it takes
    # its time.
    messages = vars(layout).setdefault('label_messages', {})
    if name not in messages:
        explain = _explainNotOffered if known else _explainUnknown
        messages[name] = explain(name, layout)
    error = LabelNotOfferedError if known else UnknownLabelError
    raise error(messages[name])


def getCurrent(layout):
    """
    To Zuul, an error with another text is another error, and a change is to
    blame for it.  What messages say about other objects is thus taken
    from what is there without the change.

    :return: the layout that the tenant has, or is just about to get.
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
        advice = 'Add a provider that does, for there are none'
    return (f'The {describe(label)} exists, but no provider of this tenant '
            f'offers it. {advice}')
