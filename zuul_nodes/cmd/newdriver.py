"""``zuul-nodes new-driver``: writes a package with a driver to start from."""

import argparse
import importlib.metadata
import importlib.util
import pathlib
import re
import shlex

from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Write a Python package with a driver for a cloud that Zuul does not support.
The driver works at once, with a toy cloud, and passes its tests.  Replace the
toy cloud by calls to your cloud, method by method.

NAME is the value of "driver" in connections in zuul.conf.
The guide for driver authors explains the files.'''

TEMPLATE = pathlib.Path(__file__).parent / 'driver-template'
# Path -> purpose of the file.
FILES = {
    'README.rst': 'how the driver is installed and configured',
    'pyproject.toml': 'the package, with the entry point',
    'zuul_acme/__init__.py': 'the driver: what people configure',
    'zuul_acme/adapter.py': 'the adapter: how the cloud is called',
    'zuul_acme/toycloud.py': 'the toy cloud, to be removed in the end',
    'tests/test_conformance.py': 'the tests, which are the conformance kit',
}
# "acme" in the template stands for the name of the driver.
PLACEHOLDER = re.compile('zuul_acme|acme|Acme')


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        'name', type=_name, metavar='NAME',
        help='name of the driver: lowercase letters, digits and "-"')
    parser.add_argument(
        '--directory', type=pathlib.Path,
        help='directory for the package, empty or new (default: zuul-NAME)')


def _name(text):
    if not re.fullmatch(r'[a-z][a-z0-9]*(-[a-z0-9]+)*', text):
        near = '-'.join(re.findall(r'[a-z0-9]+', text.lower())) or 'cloud'
        raise argparse.ArgumentTypeError(
            f'"{text}" does not consist of lowercase letters, digits and '
            f'single "-", with a letter first; '
            f'use "{near if near[0].isalpha() else f"my-{near}"}"')
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
    print(f'\nTo install it in this environment and run its tests:\n'
          f'  cd {shlex.quote(str(directory))}\n'
          f"  pip install -e '.[test]'\n"
          f'  pytest')
    return 0


def checkName(name):
    """
    :raises UserError: the name of the driver or the package is taken.
    """
    from zuul_nodes.plugin import extensions
    owners = {driver: 'Zuul' for driver in extensions.getZuulDrivers()}
    ours = extensions.find()[extensions.DRIVERS]
    for driver, entry_points in ours.items():
        owners[driver] = extensions.getPackage(entry_points[0])
    if name in owners:
        raise UserError(
            f'{owners[name]} already has a driver "{name}"; choose another '
            f'name, such as "my-{name}". These names are taken: '
            f'{", ".join(sorted(owners))}')
    package, module = f'zuul-{name}', getModule(name)
    if _isInstalled(package) or importlib.util.find_spec(module):
        raise UserError(
            f'a package {package} or a module {module} is already installed; '
            f'choose another name, such as "my-{name}"')


def _isInstalled(package):
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def checkDirectory(directory):
    """
    :raises UserError: the directory is not empty or cannot be used.
    """
    try:
        if next(directory.iterdir(), None) is None:
            return
        problem = 'is not empty'
    except FileNotFoundError:
        return
    except OSError as error:
        problem = f'cannot be used: {error.strerror}'
    raise UserError(f'{directory} {problem}; name an empty or new '
                    f'directory with --directory')


def write(name, directory):
    """Write the package.

    :param str name: of the driver.
    :param Path directory: of the package.
    :return: path in the directory -> purpose of the file.
    :raises UserError: the directory cannot be written.
    """
    written = {}
    for template, purpose in FILES.items():
        path = fill(template, name)
        try:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(
                fill((TEMPLATE / template).read_text(), name))
        except OSError as error:
            raise UserError(f'cannot write {directory / path}: '
                            f'{error.strerror}') from error
        written[path] = purpose
    return written


def fill(text, name):
    """:return: a text of the template, filled in for a driver."""
    values = {
        'zuul_acme': getModule(name),
        'acme': name,
        'Acme': ''.join(map(str.capitalize, name.split('-'))),
    }
    return PLACEHOLDER.sub(lambda match: values[match[0]], text)


def getModule(name):
    """:return: the name of a driver's module."""
    return f'zuul_{name.replace("-", "_")}'
