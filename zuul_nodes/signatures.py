"""What we know of functions of other packages whose place we take."""

import dataclasses
import importlib
import importlib.metadata
import inspect
import operator

from packaging.requirements import Requirement


@dataclasses.dataclass(frozen=True)
class Known:
    """A function of another package, as we know it.

    :ivar str module:
    :ivar str attribute: a function of that module, or a method of a class,
        as ``Class.method``.
    :ivar str signature: as it has to be.
    :ivar tuple names: names that its code has to use.
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
        """:return: how the function differs from what we know, or None."""
        try:
            original = self.original
            signature = str(inspect.signature(original))
        except (ImportError, AttributeError, TypeError) as error:
            return f'{self.name} is not there ({error})'
        if signature != self.signature:
            return (f'{self.name} has the signature {signature}, '
                    f'not {self.signature}')
        missing = set(self.names).difference(
            self.names and original.__code__.co_names)
        if missing:
            return f'{self.name} does not use {", ".join(sorted(missing))}'
        return None


def getVersions(package):
    """
    :param str package: that zuul-nodes needs.
    :return: its version, and the range of versions that zuul-nodes is
        written for.
    """
    for line in importlib.metadata.requires('zuul-nodes'):
        requirement = Requirement(line)
        if requirement.name == package:
            return importlib.metadata.version(package), requirement.specifier
    raise LookupError(f'the metadata of zuul-nodes do not name {package}')


def findVersionMismatch(package):
    """:return: why the version of a package does not fit, or None."""
    version, wanted = getVersions(package)
    if not wanted.contains(version, prereleases=True):
        return (f'{package.capitalize()} is {version}, this plugin is for '
                f'{wanted}')
    return None
