"""Changes under review: what their jobs use, and what they propose.

Images, flavors, labels, sections and providers "will be non-speculative
(like pipelines and semaphores - changes must merge before they take
effect)" (specification, "Configuration").  Zuul implements this for sections
and providers.  This rule implements it for flavors and labels, and for images
that the tenant already has.

An image that the change adds is in the change's layout.  Only the jobs that
build it can refer to it there, and the change must be able to test them.

The proposed objects are validated as well, in a second layout.  It is the
attribute ``proposed`` of the change's layout until that layout is complete.
"""

import itertools

from zuul import model

from zuul_nodes.configloader.errors import describe, formatLocation
from zuul_nodes.configloader.rules.access import (
    LabelNotOfferedError,
    isOffered,
)
from zuul_nodes.configloader.rules.duplicates import KINDS

# Parsed objects of each kind, and the errors of their stanzas.
PARSED = [name for kind in ('image', 'flavor', 'label', 'section', 'provider')
          for name in (f'{kind}s', f'{kind}_errors')]
# Limits the length of the comment on a change.
MANY = 30


class Proposal:
    """Layout rule for layouts of changes under review."""

    def addItems(self, add, layout, tenant, parsed_config, parse_context):
        """Fill the layout of a change.

        :param add: Zuul's method that adds objects to a layout, with its own
            arguments.
        :param Layout layout: the layout of the change.  It gets the objects
            that the change may use before merging, and ``proposed``.
        """
        layout.proposed = model.Layout(tenant)
        theirs, others = _split(parsed_config)
        errors = []
        with (parse_context.errorContext(error_list=errors),
              parse_context.accumulator.catchErrors()):
            add(layout.proposed, tenant, theirs, parse_context)
        # Zuul drops the errors of sections and providers here.  It compares
        # texts to find the errors that exist without the change.  A text may
        # name locations that the change moves, so known errors keep theirs.
        known = {_identify(error): error
                 for error in tenant.layout.loading_errors.errors}
        for error in (*layout.proposed.loading_errors.errors, *errors):
            layout.loading_errors.addError(
                known.get(_identify(error), error))
        add(layout, tenant, others, parse_context, dynamic_layout=True)
        layout.images = layout.proposed.images | tenant.layout.images
        layout.flavors = tenant.layout.flavors
        layout.labels = tenant.layout.labels

    def warn(self, item, layout):
        """Warn on a change about the objects that must merge first.

        :param QueueItem item: the change, and those it depends on.
        :param Layout layout: loses ``proposed``.  A layout without it is not
            for running jobs: it belongs to a change of a config project.
        """
        proposed = vars(layout).pop('proposed', layout)
        messages = itertools.chain(
            _findNotOffered(item, layout),
            _findDifferences(item, layout, proposed))
        if proposed is not layout:
            messages = itertools.chain(
                _findNeeds(item, layout, proposed), messages)
        # Zuul may compute the layout of an item more than once.
        seen = item.current_build_set.warning_messages
        new = [message for message in dict.fromkeys(messages)
               if message not in seen]
        if len(new) > MANY:
            new[MANY:] = [f'{len(new) - MANY} more objects must merge first.']
        if new:
            item.warning(new)


def _split(parsed_config):
    """:return: the objects that providers use, and the rest."""
    theirs, others = model.ParsedConfig(), parsed_config.copy()
    for name in PARSED:
        setattr(theirs, name, getattr(parsed_config, name))
        setattr(others, name, [])
    return theirs, others


def _findDifferences(item, layout, proposed):
    """Yield a warning for each object that the change modifies."""
    broken = {_getFile(error.key.context) for error
              in layout.loading_errors.errors if error.key.context}
    for kind in KINDS.values():
        old = getattr(layout.tenant.layout, kind)
        new = getattr(proposed, kind)
        for name in sorted({*old, *new}):
            before, after = old.get(name), new.get(name)
            if before == after:
                continue
            if not any(_isTouched(item, each) for each in (before, after)):
                # A change ahead in the queue modifies it.
                continue
            if before is None:
                yield (f'The {describe(after)} does not exist until this '
                       f'change has merged.')
            elif after is not None:
                yield (f'The {describe(after)} changes when this change has '
                       f'merged. Until then, jobs use its current version.')
            # Otherwise its file may be unreadable, so nothing is known.
            elif _getFile(before.source_context) not in broken:
                yield (f'The {describe(before)} is removed when this change '
                       f'has merged. Until then, jobs use it.')


def _findNotOffered(item, layout):
    """Yield a warning for each use of a label that no provider offers.

    Zuul reports the warnings of a layout only beside an error.
    """
    for error in layout.loading_errors.errors:
        if (error.name == LabelNotOfferedError.zuul_error_name
                and _isFileTouched(item, error.key.context)):
            location = formatLocation(
                error.key.context, error.key.mark and error.key.mark.line + 1)
            yield f'{error.short_error} (needed in {location}).'


def _findNeeds(item, layout, proposed):
    """Yield a warning for each use of a label that must merge first."""
    current = layout.tenant.layout
    pending = {name: label for name, label in proposed.labels.items()
               if isOffered(name, proposed) and not isOffered(name, current)}
    if not pending:
        return
    meanwhile = 'requests for it fail'
    if layout.tenant.use_nodepool:
        meanwhile = 'Zuul requests such nodes from Nodepool'
    for user, nodeset in _getNodesets(layout):
        labels = nodeset.flattenAlternativeLabels() & pending.keys()
        for label in sorted(labels):
            if _isTouched(item, user) or _isTouched(item, pending[label]):
                yield (f'The {describe(user)} needs the '
                       f'{describe(pending[label])}, which must merge first: '
                       f'until then no provider of this tenant offers this '
                       f'label, and {meanwhile}.')


def _getNodesets(layout):
    """Yield each object that has a nodeset, and the nodeset."""
    for nodeset in layout.nodesets.values():
        yield nodeset, nodeset
    jobs = itertools.chain(
        *layout.jobs.values(),
        *(project_config.embeddedJobs() for project_config in
          itertools.chain(*layout.project_configs.values(),
                          *layout.project_templates.values())))
    for job in jobs:
        if isinstance(job.nodeset, model.NodeSet) and job.source_context:
            yield job, job.nodeset


def _identify(error):
    """:return: a key of the stanza and the kind of an error."""
    key = error.key
    if not (key.context and key.mark):
        return key.error_text
    return *_getFile(key.context), key.mark.snippet, error.name


def _getFile(context):
    return context.project_canonical_name, context.branch, context.path


def _isTouched(item, config_object):
    """:return: whether the item's own changes touch the object's file."""
    return config_object is not None and _isFileTouched(
        item, config_object.source_context)


def _isFileTouched(item, context):
    for change in item.changes:
        files = getattr(change, 'files', None)
        if (change.project.canonical_name == context.project_canonical_name
                and getattr(change, 'branch', None) == context.branch
                and (files is None or context.path in files)):
            return True
    return False
