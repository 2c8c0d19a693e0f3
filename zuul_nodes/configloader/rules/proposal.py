"""What a change under review proposes is not what its jobs run with.

Images, flavors, labels, sections and providers "will be non-speculative
(like pipelines and semaphores - changes must merge before they take
effect)" (specification, "Configuration").  Zuul does so with sections and
providers.  Here the same goes for flavors and labels, and for images
that the tenant has.

Only an image that the change adds is in its layout: nothing but the jobs
that build it can refer to it there, and they are to be tried, too.

What the change writes is validated all the same, in a layout of its own,
which is there until the change's layout is complete: its attribute
``proposed``.
"""

import itertools

from zuul import model

from zuul_nodes.configloader.errors import describe
from zuul_nodes.configloader.rules.access import isOffered
from zuul_nodes.configloader.rules.duplicates import KINDS

# What is parsed, with the errors of its own.
PARSED = [name for kind in ('image', 'flavor', 'label', 'section', 'provider')
          for name in (f'{kind}s', f'{kind}_errors')]
# A comment on a change must not be too long.
MANY = 30


class Proposal:
    """The rule for layouts that are made for a change under review."""

    def addItems(self, add, layout, tenant, parsed_config, parse_context):
        """Add to a layout whatever it is to have.

        :param add: Zuul's method that does so with all of its arguments.
        :param Layout layout: of the change; it gets what the change may
            have at once, and ``proposed``.
        """
        layout.proposed = model.Layout(tenant)
        theirs, others = _split(parsed_config)
        errors = []
        with (parse_context.errorContext(error_list=errors),
              parse_context.accumulator.catchErrors()):
            add(layout.proposed, tenant, theirs, parse_context)
        # Zuul itself drops those of sections and providers here.  It tells
        # by the text which of them the change is not to blame for, and a
        # text may name other places, which a change moves.
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
        """Say on the change what of it has to merge first.

        :param QueueItem item: the change, with those it depends on.
        :param Layout layout: is relieved of ``proposed``.  If it has none,
            it is not for running jobs at all: that of a config project.
        """
        proposed = vars(layout).pop('proposed', layout)
        messages = _findDifferences(item, layout, proposed)
        if proposed is not layout:
            messages = itertools.chain(
                _findNeeds(item, layout, proposed), messages)
        # A layout may be made more than once.
        seen = item.current_build_set.warning_messages
        new = [message for message in dict.fromkeys(messages)
               if message not in seen]
        if len(new) > MANY:
            new[MANY:] = [f'And {len(new) - MANY} more of that kind.']
        if new:
            item.warning(new)


def _split(parsed_config):
    """:return: what providers are made of, and the rest."""
    theirs, others = model.ParsedConfig(), parsed_config.copy()
    for name in PARSED:
        setattr(theirs, name, getattr(parsed_config, name))
        setattr(others, name, [])
    return theirs, others


def _findDifferences(item, layout, proposed):
    """Yield a warning for each object that the change would change."""
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
                # This is the doing of a change ahead.
                continue
            if before is None:
                yield (f'The {describe(after)} is there when this change '
                       f'has merged, and not before.')
            elif after is not None:
                yield (f'The {describe(after)} changes when this change has '
                       f'merged. Until then jobs use it as it is now.')
            # Else it may be gone, or not be readable any more.
            elif _getFile(before.source_context) not in broken:
                yield (f'The {describe(before)} goes away when this change '
                       f'has merged. Until then jobs use it.')


def _findNeeds(item, layout, proposed):
    """Yield a warning for each use of a label that must merge first."""
    current = layout.tenant.layout
    pending = {name: label for name, label in proposed.labels.items()
               if isOffered(name, proposed) and not isOffered(name, current)}
    if not pending:
        return
    meanwhile = 'no node can be had'
    if layout.tenant.use_nodepool:
        meanwhile = 'Nodepool is asked for nodes'
    for user, nodeset in _getNodesets(layout):
        labels = nodeset.flattenAlternativeLabels() & pending.keys()
        for label in sorted(labels):
            if _isTouched(item, user) or _isTouched(item, pending[label]):
                yield (f'The {describe(user)} needs the '
                       f'{describe(pending[label])}, which must merge first: '
                       f'until then no provider of this tenant offers this '
                       f'label, and {meanwhile}.')


def _getNodesets(layout):
    """Yield what has a nodeset, and the nodeset."""
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
    """:return: the stanza that is in error, and by what kind of error."""
    key = error.key
    if not (key.context and key.mark):
        return key.error_text
    return *_getFile(key.context), key.mark.snippet, error.name


def _getFile(context):
    return context.project_canonical_name, context.branch, context.path


def _isTouched(item, config_object):
    """:return: whether it is in a file that the change itself changes."""
    if config_object is None:
        return False
    context = config_object.source_context
    for change in item.changes:
        files = getattr(change, 'files', None)
        if (change.project.canonical_name == context.project_canonical_name
                and getattr(change, 'branch', None) == context.branch
                and (files is None or context.path in files)):
            return True
    return False
