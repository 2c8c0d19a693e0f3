"""The seams at which configuration objects come together in a layout.

What is done there is a matter of the rules that entry points give.  Each
is made once in a process, without arguments, and used by several threads.
What a rule raises is an error in the configuration of the tenant, or of
the change under review, that is dealt with, and of no other.
"""

import contextlib
import functools
import logging

log = logging.getLogger('zuul.nodes.plugin')

# Name of the rule -> its methods.
RULES = {
    'proposal': ('addItems', 'warn'),
    'access': ('checkNodeset',),
    'duplicates': ('explain',),
    'lastgood': ('keep',),
    'unused': ('check',),
}


def _withRule(name):
    """Have a wrapper made with a rule, if there is that rule."""
    def decorate(wrap):
        @functools.wraps(wrap)
        def wrapWithRule(original, extensions):
            rule_class = extensions.layout_rules.get(name)
            if rule_class is None:
                return original
            return functools.wraps(original)(wrap(original, rule_class()))
        return wrapWithRule
    return decorate


@_withRule('unused')
def wrapAddUnused(add, rule):
    """To be there before that of proposals, which adds what a change
    proposes to a layout of its own."""
    def wrapper(self, layout, tenant, parsed_config, parse_context,
                dynamic_layout=False):
        add(self, layout, tenant, parsed_config, parse_context,
            dynamic_layout)
        if not dynamic_layout:
            rule.check(layout, parse_context)
    return wrapper


@_withRule('proposal')
def wrapAddLayoutItems(add, rule):
    def wrapper(self, layout, tenant, parsed_config, parse_context,
                dynamic_layout=False):
        add_items = functools.partial(add, self)
        if dynamic_layout:
            rule.addItems(
                add_items, layout, tenant, parsed_config, parse_context)
        else:
            add_items(layout, tenant, parsed_config, parse_context)
    return wrapper


def wrapLoadProjectYAML(load, extensions):
    @functools.wraps(load)
    def wrapper(self, data, source_context, parse_context):
        # Zuul keeps what it has parsed of a file, but not that the file
        # can't be read at all: the error is gone with the next layout, and
        # nobody knows that there should be providers in it.
        errors = []
        with parse_context.errorContext(error_list=errors):
            parsed = load(self, data, source_context, parse_context)
        parsed.pragma_errors.extend(errors)
        return parsed
    return wrapper


@_withRule('lastgood')
def wrapAddItemsOfTenant(add, rule):
    def wrapper(self, layout, tenant, parsed_config, parse_context,
                dynamic_layout=False):
        if not dynamic_layout:
            try:
                parsed_config = rule.keep(
                    self.zk_client, layout, tenant, parsed_config,
                    parse_context)
            except Exception:
                # Providers in error are missing, as they are for Zuul.
                log.exception("Unable to keep what providers in error were:")
        add(self, layout, tenant, parsed_config, parse_context,
            dynamic_layout)
    return wrapper


@_withRule('proposal')
def wrapCreateDynamicLayout(create, rule):
    def wrapper(self, item, files, additional_project_branches,
                ansible_manager, include_config_projects=False):
        layout = create(self, item, files, additional_project_branches,
                        ansible_manager, include_config_projects)
        try:
            rule.warn(item, layout)
        except Exception as error:
            # Only a notice is missing, which is no reason to hold up the
            # change.
            log.exception("Unable to compare configurations:")
            layout.loading_errors.makeError(
                None, None, f'Unable to say what of this change takes '
                f'effect when it has merged: {error!r}',
                severity='warning', name='Comparison Failed')
        return layout
    return wrapper


@_withRule('access')
def wrapValidateNodeset(validate, rule):
    def wrapper(self, layout):
        from zuul.exceptions import LabelNotFoundError
        # Labels are what is looked at last, and the rule knows more.
        with contextlib.suppress(LabelNotFoundError):
            validate(self, layout)
        rule.checkNodeset(self, layout)
    return wrapper


@_withRule('duplicates')
def wrapAddIdenticalObject(add, rule):
    def wrapper(self, obj_type, obj_dict, new_obj):
        try:
            add(self, obj_type, obj_dict, new_obj)
        except Exception as error:
            if new_obj.name not in obj_dict:
                raise
            raise rule.explain(error, self, obj_type,
                               obj_dict[new_obj.name], new_obj) from error
    return wrapper
