"""The seam at which configuration objects are parsed."""

import functools

# The attribute "<name>_parser" of Zuul's ParseContext parses each of these.
CONFIG_OBJECTS = ('image', 'flavor', 'label', 'section', 'provider')


def wrapParseContext(init, extensions):
    @functools.wraps(init)
    def wrapper(self, *args, **kwargs):
        init(self, *args, **kwargs)
        for name, parser_class in extensions.config_objects.items():
            setattr(self, f'{name}_parser', parser_class(self))
    return wrapper
