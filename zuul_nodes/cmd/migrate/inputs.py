"""What else the command reads: variables, secure.conf and clouds.yaml."""

import argparse
import os
import re

import yaml

from zuul_nodes.cmd.migrate import reading
from zuul_nodes.cmd.migrate.secrets import isSecretName
from zuul_nodes.cmd.migrate.site import iterateNamed
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin
from zuul_nodes.exceptions import UserError

PREFIX = 'NODEPOOL_'


def parseVariable(text):
    """
    :param str text: of the option ``--env``.
    :return: (name, value).
    :raises argparse.ArgumentTypeError: the text is not of that form.
    """
    name, equals, value = text.partition('=')
    if not equals or not re.fullmatch(rf'{PREFIX}\w+', name):
        # The text may contain a secret.
        raise argparse.ArgumentTypeError(
            f'expected {PREFIX}NAME=VALUE: Nodepool fills in no other '
            f'variables')
    return name, value


def getEnvironment(given, secrets):
    """
    :param given: list of (name, value), which count more than those of the
        process.
    :return: variable -> value, of those that Nodepool fills in.
    """
    environment = {name: value for name, value in os.environ.items()
                   if name.startswith(PREFIX)} | dict(given or ())
    for name, value in environment.items():
        if isSecretName(name):
            secrets.add(value)
    return environment


def readSecure(path, environment, secrets):
    """Read the variables of disk images that ``secure.conf`` adds.

    :return: name of a disk image -> Mapping of placeholders.
    :raises UserError: the file cannot be read.
    """
    try:
        source = reading.read(path, environment, secrets)
    except UserError as error:
        if 'valid YAML' in str(error) or 'a single value' in str(error):
            raise UserError(
                f'{path} is not in YAML, as Nodepool since version 3 '
                f'expects') from None
        raise
    found = {}
    for image, _ in iterateNamed(source, 'diskimages'):
        variables = image.get('env-vars')
        if not isinstance(variables, Mapping):
            continue
        placeholders = Mapping()
        for name, value in variables.items():
            origin = getOrigin(variables, name).withoutComments()
            if value not in secrets.found:
                secrets.add(value)
            placeholders.put(
                name, value if value in secrets.found
                else secrets.hide(name, origin), origin)
        found[image['name']] = placeholders
    return found


def addSecure(sources, secure, path):
    """Add the variables of ``secure.conf`` to the disk images.

    :raises UserError: there is no such disk image.
    """
    for name, variables in secure.items():
        images = [image for source in sources
                  for image, _ in iterateNamed(source, 'diskimages')
                  if image['name'] == name]
        if not images:
            raise UserError(f'{path} has variables of the diskimage "{name}", '
                            f'which no file defines')
        for image in images:
            if not isinstance(image.get('env-vars'), Mapping):
                image.put('env-vars', Mapping())
            image['env-vars'].take(variables)


def readClouds(path):
    """:return: set of the names of the clouds in ``clouds.yaml``.

    :raises UserError: the file cannot be read.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
        return set(content['clouds'])
    except OSError as error:
        raise UserError(f'cannot read {path}: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        # The text has secrets, and so may the error.
        raise UserError(f'{path} has no "clouds"') from None
