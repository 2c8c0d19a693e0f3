"""Check functions of other packages before zuul-nodes replaces them."""

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import operator

from packaging.requirements import Requirement


@dataclasses.dataclass(frozen=True)
class Known:
    """A function of another package, as zuul-nodes expects it.

    :ivar str module: where the function is.
    :ivar str attribute: a function of the module, or a method as
        ``Class.method``.
    :ivar str signature: the expected signature.
    :ivar tuple names: names that its code must use.
    """
    module: str
    attribute: str
    signature: str
    names: tuple = dataclasses.field(default=(), kw_only=True)

    @property
    def name(self):
        return f'{self.module}.{self.attribute}'

    @property
    def original(self):
        return operator.attrgetter(self.attribute)(
            importlib.import_module(self.module))

    def findMismatch(self):
        """:return: why the function does not match, or None."""
        try:
            original = self.original
            signature = _getSignature(original)
        except (ImportError, AttributeError, TypeError) as error:
            return f'{self.name} does not exist ({error})'
        if signature != self.signature:
            return (f'{self.name} has the signature {signature}, '
                    f'not {self.signature}')
        missing = set(self.names).difference(
            self.names and original.__code__.co_names)
        if missing:
            return f'{self.name} does not use {", ".join(sorted(missing))}'
        return None


@functools.cache
def _getSignature(function):
    """:return: the signature of a function, as text."""
    return str(inspect.signature(function))


@functools.cache
def getVersions(package):
    """
    :param str package: a requirement of zuul-nodes.
    :return: (its version, the supported range)
    """
    for line in importlib.metadata.requires('zuul-nodes'):
        requirement = Requirement(line)
        if requirement.name == package:
            return importlib.metadata.version(package), requirement.specifier
    raise LookupError(f'the metadata of zuul-nodes do not name {package}')


def findVersionMismatch(package):
    """:return: why the version of a package is not supported, or None."""
    version, wanted = getVersions(package)
    if not wanted.contains(version, prereleases=True):
        return (f'{package.capitalize()} is {version}, this plugin is for '
                f'{wanted}')
    return None
