"""A provider in error goes on as it was.

Zuul leaves it out of the layout, so that a typo deletes its ready nodes and
sends what asks for its labels elsewhere.  Here the definition that was good
last stays in use, with the error shown, until it is right again or gone.

ZooKeeper has that definition: what the schedulers have written of the layout
before, for launchers.  So all processes find the same one, also after a
restart.  What the operator allows the tenant is checked anew.
"""

import logging
import textwrap
import urllib.parse

from kazoo.exceptions import NoNodeError
import yaml
from zuul.exceptions import ConfigurationSyntaxError
from zuul.model import SEVERITY_ERROR
from zuul.provider import BaseProvider
from zuul.zk.zkobject import ZKContext

from zuul_nodes import providerrecords
from zuul_nodes.configloader.objects.provider import ProviderConfig
from zuul_nodes.drivers import bounds

log = logging.getLogger('zuul.nodes.configloader')


class KeepLastGood:
    """The rule for layouts that are in force."""

    def keep(self, zk_client, layout, tenant, parsed_config, parse_context):
        """To be called before a layout is made.

        :param ZooKeeperClient zk_client: or None where there is none.
        :param Layout layout: gets ``last_good``, which its providers ask.
        :param Tenant tenant:
        :param ParsedConfig parsed_config: of the tenant.
        :param ParseContext parse_context:
        :return: the ParsedConfig to use: with a stand-in for each provider
            that was there and of which nothing can be read any more.
        """
        if zk_client is None:
            return parsed_config
        layout.last_good = LastGood(zk_client, tenant.name, parse_context)
        errors = [error for errors in _getErrorLists(parsed_config)
                  for error in errors if _isAboutProviders(error)]
        if not errors:
            return parsed_config
        known = {config.canonical_name for config in parsed_config.providers}
        stand_ins = [
            StandIn(name, error)
            for name in layout.last_good.getNames() if name not in known
            if (error := _findError(tenant, name, errors))]
        if stand_ins:
            parsed_config = parsed_config.copy()
            parsed_config.providers = [*parsed_config.providers, *stand_ins]
        return parsed_config


class LastGood:
    """The definitions of a tenant's providers that were good last."""

    def __init__(self, zk_client, tenant_name, parse_context):
        self.zk_client = zk_client
        self.tenant_name = tenant_name
        self.parse_context = parse_context

    def getNames(self):
        """:return: a list of the canonical names of providers."""
        return providerrecords.getNames(
            self.zk_client.client, self.tenant_name)

    def get(self, canonical_name):
        """
        :return: the flat configuration of a provider, or None if there is
            none, or the tenant may not have it any more.
        """
        path = providerrecords.getPath(self.tenant_name, canonical_name)
        try:
            provider = BaseProvider.fromZK(
                ZKContext(self.zk_client, None, None, log), path,
                self.parse_context.connections,
                self.parse_context.system.system_id, self.zk_client)
            bounds.check(
                provider.connection, self.tenant_name, provider.config)
        except NoNodeError:
            return None
        except bounds.BoundError as error:
            log.warning('The provider %s of the tenant %s does not stay as '
                        'it was, for it may not be like that any more: %s',
                        canonical_name, self.tenant_name, error)
            return None
        except Exception:
            # Its driver or its connection may be gone.
            log.warning('Unable to read what the provider %s of the tenant '
                        '%s was:', canonical_name, self.tenant_name,
                        exc_info=True)
            return None
        return provider.config

    def stay(self, canonical_name, error):
        """
        :param Exception error: what is wrong with the provider.
        :return: as :meth:`get`.  The error is shown then.
        """
        config = self.get(canonical_name)
        if config is not None:
            if isinstance(error, ConfigurationSyntaxError):
                error.args = (f'{error}. Until then, the provider stays as '
                              'it was before',)
            self.parse_context.accumulator.addError(error)
        return config


class StandIn(ProviderConfig):
    """In place of a stanza that can't be read.

    :param str canonical_name: of the provider.
    :param ConfigurationError error: which is shown already.
    """

    def __init__(self, canonical_name, error):
        _, _, name = canonical_name.rpartition('/')
        super().__init__(urllib.parse.unquote_plus(name), None)
        self.source_context = error.key.context
        self.start_mark = error.key.mark

    def flattenConfig(self, layout, connections):
        """:return: what it was."""
        config = layout.last_good.get(self.canonical_name)
        if config is None:
            raise LookupError(
                f'The provider "{self.name}" can not stay as it was before')
        return config


def _getErrorLists(parsed_config):
    return [errors for name, errors in vars(parsed_config).items()
            if name.endswith('_errors')]


def _isAboutProviders(error):
    """:return: whether a provider may be missing because of it."""
    if error.severity != SEVERITY_ERROR or error.key.context is None:
        return False
    # Of a file that can't be read at all, there is no stanza.
    return error.key.mark is None or (
        error.key.mark.snippet.lstrip().startswith('provider:'))


def _findError(tenant, canonical_name, errors):
    """:return: an error that a provider is missing for, or None."""
    project, _, name = map(
        urllib.parse.unquote_plus, canonical_name.rpartition('/'))
    tpc = tenant.getTPC(project)
    if tpc is None or 'provider' not in tpc.load_classes:
        return None
    for error in errors:
        if error.key.context.project_canonical_name == project and (
                _getName(error) in (None, name)):
            return error
    return None


def _getName(error):
    """:return: the name in a provider's stanza, or None if it can't be
        read."""
    if error.key.mark is None:
        return None
    try:
        stanza = yaml.safe_load(textwrap.dedent(error.key.mark.snippet))
        name = stanza['provider']['name']
    except Exception:
        return None
    return name if isinstance(name, str) else None
