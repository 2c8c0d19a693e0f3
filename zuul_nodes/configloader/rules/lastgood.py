"""Keep the last good definition of a provider that is in error.

Zuul removes such a provider from the layout, so a typo deletes its ready
nodes and sends requests for its labels to other providers.  With this rule,
the last good definition stays in use and the error is shown, until the
provider is corrected or removed.

The last good definition is the one that the schedulers wrote to ZooKeeper for
the launchers with the previous layout.  All processes therefore find the same
one, also after a restart.  The operator's bounds are checked again.
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
    """Layout rule for layouts that are in force."""

    def keep(self, zk_client, layout, tenant, parsed_config, parse_context):
        """Prepare a layout; to be called before Zuul fills it.

        :param ZooKeeperClient zk_client: None where there is no ZooKeeper.
        :param Layout layout: gets ``last_good``, which its providers use.
        :param Tenant tenant:
        :param ParsedConfig parsed_config: the tenant's configuration.
        :param ParseContext parse_context:
        :return: the ParsedConfig to use, with a stand-in for each existing
            provider whose stanza can no longer be parsed.
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
    """The last good definitions of a tenant's providers."""

    def __init__(self, zk_client, tenant_name, parse_context):
        self.zk_client = zk_client
        self.tenant_name = tenant_name
        self.parse_context = parse_context

    def getNames(self):
        """:return: a list of the canonical names of providers."""
        return providerrecords.getNames(
            self.zk_client.client, self.tenant_name)

    def getConfig(self, canonical_name):
        """
        :return: the flat configuration of a provider; None if ZooKeeper has
            none, or if the operator no longer allows it.
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
            log.warning('Not keeping the last good definition of the '
                        'provider %s of the tenant %s, which exceeds what '
                        'the operator allows: %s',
                        canonical_name, self.tenant_name, error)
            return None
        except Exception:
            # Its driver or its connection may have been removed.
            log.warning('Unable to read the last good definition of the '
                        'provider %s of the tenant %s:',
                        canonical_name, self.tenant_name,
                        exc_info=True)
            return None
        return provider.config

    def keepConfig(self, canonical_name, error):
        """Return the last good configuration and report the error.

        :param Exception error: why the provider is in error.
        :return: as :meth:`getConfig`.  Without a last good configuration,
            the error is not reported here.
        """
        config = self.getConfig(canonical_name)
        if config is not None:
            if isinstance(error, ConfigurationSyntaxError):
                error.args = (f'{error}. Until this is corrected, the '
                              'previous definition of the provider stays in '
                              'use',)
            self.parse_context.accumulator.addError(error)
        return config


class StandIn(ProviderConfig):
    """Replaces a provider whose stanza cannot be parsed.

    :param str canonical_name: of the provider.
    :param ConfigurationError error: the error in the stanza, which Zuul
        shows already.
    """

    def __init__(self, canonical_name, error):
        _, _, name = canonical_name.rpartition('/')
        super().__init__(urllib.parse.unquote_plus(name), None)
        self.source_context = error.key.context
        self.start_mark = error.key.mark

    def flattenConfig(self, layout, connections):
        """:return: the last good configuration of the provider."""
        config = layout.last_good.getConfig(self.canonical_name)
        if config is None:
            raise LookupError(
                f'The provider "{self.name}" has no previous definition that '
                f'can stay in use')
        return config


def _getErrorLists(parsed_config):
    return [errors for name, errors in vars(parsed_config).items()
            if name.endswith('_errors')]


def _isAboutProviders(error):
    """:return: whether an error may have removed a provider."""
    if error.severity != SEVERITY_ERROR or error.key.context is None:
        return False
    # An error about a whole file has no stanza.
    return error.key.mark is None or (
        error.key.mark.snippet.lstrip().startswith('provider:'))


def _findError(tenant, canonical_name, errors):
    """:return: an error that may have removed a provider, or None."""
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
    """:return: the name in a provider's stanza; None if it cannot be read."""
    if error.key.mark is None:
        return None
    try:
        stanza = yaml.safe_load(textwrap.dedent(error.key.mark.snippet))
        name = stanza['provider']['name']
    except Exception:
        return None
    return name if isinstance(name, str) else None
