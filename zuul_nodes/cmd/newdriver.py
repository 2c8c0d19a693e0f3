"""``zuul-nodes new-driver``: a package with a driver, to begin with."""

import argparse
import importlib.metadata
import importlib.util
import pathlib
import re
import shlex

from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Write a Python package with a driver for a cloud that Zuul does not know.
It works at once, with a toy cloud, and passes its tests: replace the toy by
calls to your cloud, method by method.

The driver has the name that connections in zuul.conf give for "driver".
The guide for authors of drivers goes through the files.'''

TEMPLATE = pathlib.Path(__file__).parent / 'driver-template'
# What is written, and what it is for.
FILES = {
    'README.rst': 'how the driver is installed and configured',
    'pyproject.toml': 'the package, with the entry point',
    'zuul_acme/__init__.py': 'the driver: what people configure',
    'zuul_acme/adapter.py': 'the adapter: how the cloud is called',
    'zuul_acme/toycloud.py': 'the toy cloud, to be removed in the end',
    'tests/test_conformance.py': 'the tests, which are the conformance kit',
}
# In the template, the driver's name is acme.
PLACEHOLDER = re.compile('zuul_acme|acme|Acme')


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        'name', type=_name, metavar='NAME',
        help='of the driver: lowercase letters, digits and "-"')
    parser.add_argument(
        '--directory', type=pathlib.Path,
        help='where to write the package; an empty or a new directory '
             '(default: zuul-NAME)')


def _name(text):
    if not re.fullmatch(r'[a-z][a-z0-9]*(-[a-z0-9]+)*', text):
        near = '-'.join(re.findall(r'[a-z0-9]+', text.lower())) or 'cloud'
        raise argparse.ArgumentTypeError(
            f'"{text}" is not made of lowercase letters, digits and single '
            f'"-", with a letter first; '
            f'"{near if near[0].isalpha() else f"my-{near}"}" would be')
    return text


def run(args):
    name = args.name
    directory = args.directory or pathlib.Path(f'zuul-{name}')
    checkName(name)
    checkDirectory(directory)
    written = write(name, directory)
    print(f'Written to {directory}:')
    width = max(map(len, written))
    for path, purpose in written.items():
        print(f'  {path:{width}}  {purpose}')
    print(f'\nTo install it in this environment, and to run its tests:\n'
          f'  cd {shlex.quote(str(directory))}\n'
          f"  pip install -e '.[test]'\n"
          f'  pytest')
    return 0


def checkName(name):
    """
    :raises UserError: somebody has the name of the driver or the package.
    """
    from zuul_nodes.plugin import extensions
    owners = {driver: 'Zuul' for driver in extensions.getZuulDrivers()}
    for driver, entry_points in extensions.find(extensions.DRIVERS).items():
        owners[driver] = extensions.getPackage(entry_points[0])
    if name in owners:
        raise UserError(
            f'{owners[name]} has a driver "{name}" already; take another '
            f'name, such as "my-{name}".  These are taken: '
            f'{", ".join(sorted(owners))}')
    package, module = f'zuul-{name}', getModule(name)
    if _isInstalled(package) or importlib.util.find_spec(module):
        raise UserError(
            f'a package {package} or a module {module} is installed already; '
            f'take another name, such as "my-{name}"')


def _isInstalled(package):
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def checkDirectory(directory):
    """
    :raises UserError: there is something at that place.
    """
    try:
        if next(directory.iterdir(), None) is None:
            return
        problem = 'is not empty'
    except FileNotFoundError:
        return
    except OSError as error:
        problem = f'can not be used: {error.strerror}'
    raise UserError(f'{directory} {problem}; name an empty or a new '
                    f'directory with --directory')


def write(name, directory):
    """Write the package.

    :param str name: of the driver.
    :param Path directory: of the package.
    :return: path in the directory -> what it is for.
    :raises UserError: the directory can not be written.
    """
    written = {}
    for template, purpose in FILES.items():
        path = fill(template, name)
        try:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(
                fill((TEMPLATE / template).read_text(), name))
        except OSError as error:
            raise UserError(f'can not write {directory / path}: '
                            f'{error.strerror}') from error
        written[path] = purpose
    return written


def fill(text, name):
    """:return: a text of the template with the name of a driver."""
    values = {
        'zuul_acme': getModule(name),
        'acme': name,
        'Acme': ''.join(map(str.capitalize, name.split('-'))),
    }
    return PLACEHOLDER.sub(lambda match: values[match[0]], text)


def getModule(name):
    """:return: the name of the module of a driver."""
    return f'zuul_{name.replace("-", "_")}'
