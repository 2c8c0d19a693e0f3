"""The extensions that the entry points of installed packages define.

There are four groups, to which any package may contribute:

``zuul.drivers``
    driver name -> subclass of :class:`zuul.driver.Driver`.  A driver with
    the name of one of Zuul's replaces it, and must be a subclass of it.
``zuul.config_objects``
    ``image``, ``flavor``, ``label``, ``section`` or ``provider`` ->
    parser class, made with the parse context, with ``fromYaml(conf)``.
``zuul.components``
    component name -> class, made with ``(config, connections)``, with
    ``start()``, ``stop()`` and ``join()``.
``zuul.layout_rules``
    ``proposal``, ``access`` or ``duplicates`` -> class with the methods
    that ``layouts.py`` names, made without arguments.
"""

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import pkgutil

from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import layouts, parsers

DRIVERS = 'zuul.drivers'
CONFIG_OBJECTS = 'zuul.config_objects'
COMPONENTS = 'zuul.components'
LAYOUT_RULES = 'zuul.layout_rules'
GROUPS = (DRIVERS, CONFIG_OBJECTS, COMPONENTS, LAYOUT_RULES)
# What reading the configuration takes, besides drivers.
READING = (CONFIG_OBJECTS, LAYOUT_RULES)


@dataclasses.dataclass(frozen=True)
class Extensions:
    """The classes of each group, by the names of their entry points."""
    drivers: dict
    config_objects: dict
    components: dict
    layout_rules: dict = dataclasses.field(default_factory=dict)


def load(groups=GROUPS):
    """Load the entry points of groups.

    :return: :class:`Extensions`
    :raises UserError: an entry point is broken or its name is duplicated; the
        message names the package.
    """
    loaded = {group: {name: loadOne(entry_points)
                      for name, entry_points in named.items()}
              if group in groups else {}
              for group, named in find().items()}
    return Extensions(drivers=loaded[DRIVERS],
                      config_objects=loaded[CONFIG_OBJECTS],
                      components=loaded[COMPONENTS],
                      layout_rules=loaded[LAYOUT_RULES])


def find():
    """Read the metadata of all installed packages, once for all groups.

    :return: group -> name -> the entry points of that name, not loaded.
    """
    installed = importlib.metadata.entry_points()
    return {group: _groupByName(installed.select(group=group))
            for group in GROUPS}


def _groupByName(entry_points):
    found = {}
    for entry_point in entry_points:
        same_name = found.setdefault(entry_point.name, [])
        # An interrupted pip may leave the metadata of a package twice.  Each
        # look at a name parses them.
        if not same_name or entry_point.dist.name not in (
                each.dist.name for each in same_name):
            same_name.append(entry_point)
    return found


def getPackage(entry_point):
    """:return: the name and version of the entry point's package."""
    return f'{entry_point.dist.name} {entry_point.dist.version}'


def loadOne(entry_points):
    """Load the only entry point of a name.

    :param list entry_points: all entry points of the group and name.
    :return: the class.
    :raises UserError: as :func:`load`.
    """
    entry_point, *others = entry_points
    what = f'entry point "{entry_point.name}" of group {entry_point.group}'
    if others:
        packages = ' and '.join(sorted(map(getPackage, entry_points)))
        raise UserError(f'{what} is given by both {packages}; '
                        f'uninstall one of them, or disable the plugin '
                        f'with ZUUL_NODES_DISABLE=1')
    try:
        loaded = entry_point.load()
        _CHECKS[entry_point.group](entry_point.name, loaded)
    except (Exception, SystemExit) as error:
        raise UserError(
            f'{what}, from the package {getPackage(entry_point)}, '
            f'is broken: {entry_point.value}: '
            f'{type(error).__name__}: {error}; '
            f'repair or uninstall that package, or disable the plugin '
            f'with ZUUL_NODES_DISABLE=1') from error
    return loaded


def _checkDriver(name, loaded):
    from zuul.driver import Driver
    _checkClass(loaded)
    if not issubclass(loaded, Driver):
        raise TypeError('not a subclass of zuul.driver.Driver')
    if loaded.name != name:
        raise ValueError(f'the name of the driver class is "{loaded.name}"')
    original = findZuulDriver(name)
    if original and not issubclass(loaded, original):
        raise TypeError(
            f'Zuul has a driver of that name, and this is not a subclass of '
            f'{original.__module__}.{original.__qualname__}')


def _checkConfigObject(name, loaded):
    _checkClass(loaded, 'fromYaml')
    _checkName(name, parsers.CONFIG_OBJECTS)


def _checkComponent(name, loaded):
    _checkClass(loaded, 'start', 'stop', 'join')


def _checkLayoutRule(name, loaded):
    _checkClass(loaded, *layouts.RULES.get(name, ()))
    _checkName(name, layouts.RULES)


def _checkName(name, known):
    if name not in known:
        raise ValueError('the name must be one of: ' + ', '.join(known))


def _checkClass(loaded, *methods):
    if not inspect.isclass(loaded):
        raise TypeError('not a class')
    if inspect.isabstract(loaded):
        missing = ', '.join(sorted(loaded.__abstractmethods__))
        raise TypeError(f'the class lacks methods: {missing}')
    for method in methods:
        if not callable(getattr(loaded, method, None)):
            raise TypeError(f'the class has no method {method}()')


_CHECKS = {
    DRIVERS: _checkDriver,
    CONFIG_OBJECTS: _checkConfigObject,
    COMPONENTS: _checkComponent,
    LAYOUT_RULES: _checkLayoutRule,
}


def getEndpointClass(driver_class):
    """:return: the endpoint class of a driver of Zuul or of any package; None
        if it has none."""
    return getattr(driver_class, '_endpoint_class', None)


def getZuulDrivers():
    """:return: name -> class of Zuul's own drivers, which this imports."""
    drivers = {name: findZuulDriver(name) for name in getZuulDriverNames()}
    return {name: cls for name, cls in drivers.items() if cls}


@functools.cache
def getZuulDriverNames():
    """:return: a frozenset of the names of Zuul's own drivers.

    Each driver is a package of its name, which this does not import.
    """
    import zuul.driver
    return frozenset(module.name for module in pkgutil.iter_modules(
        zuul.driver.__path__) if module.ispkg)


def findZuulDriver(name):
    """
    :param str name: of any driver.
    :return: the class of Zuul's own driver of that name, or None.
    """
    from zuul.driver import Driver
    if name not in getZuulDriverNames():
        return None
    module = importlib.import_module(f'zuul.driver.{name}')
    return next((each for each in vars(module).values()
                 if inspect.isclass(each) and issubclass(each, Driver)
                 and each.name == name), None)
