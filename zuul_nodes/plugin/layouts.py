"""The seams at which configuration objects are combined in a layout.

Rules from entry points do the work.  Each rule is created once in a process,
without arguments, and several threads use it.  An exception in a rule becomes
an error of the tenant or the change under review being loaded, and does not
affect others.
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
    """Create a wrapper with a rule; without the rule, wrap nothing."""
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
    """Wrap before the seam of proposals, which adds the objects of a change
    to a separate layout."""
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
        # Zuul caches the parsed objects of a file, but not the error that the
        # file is unreadable.  With the next layout, the error would be lost,
        # and no rule would know that providers are missing.
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
                # Providers in error are missing, as in an unmodified Zuul.
                log.exception("Unable to keep the last good definitions of "
                              "providers in error:")
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
            # Only the warnings are missing; the change continues.
            log.exception("Unable to find the objects that must merge first:")
            layout.loading_errors.makeError(
                None, None, f'Unable to find the objects of this change that '
                f'must merge first: {error!r}',
                severity='warning', name='Comparison Failed')
        return layout
    return wrapper


@_withRule('access')
def wrapValidateNodeset(validate, rule):
    def wrapper(self, layout):
        from zuul.exceptions import LabelNotFoundError
        # Zuul checks labels last, and the rule checks them better.
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
