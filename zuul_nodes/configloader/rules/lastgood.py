"""Keep the last good definition of a provider that is in error.

Zuul removes such a provider from the layout, so a typo deletes its ready
nodes and sends requests for its labels to other providers.  With this rule,
the last good definition stays in use and the error is shown, until the
provider is corrected or removed.

Only what the provider's own project says stays as it was.  It is combined
with the present sections of other projects, so that changes of the operator
take effect.  If the two do not fit together, the whole last good
configuration stays in use, with the present limits and static nodes of its
sections.  The provider is out of service if its section is gone or another
connection has taken its place, and if the operator's bounds forbid it.

The last good definition is the one that the schedulers wrote to ZooKeeper for
the launchers with the previous layout.  All processes therefore find the same
one, also after a restart, and writing it again changes nothing.
"""

import logging
import textwrap
import urllib.parse

import voluptuous as vs
import yaml
from zuul.exceptions import ConfigurationSyntaxError
from zuul.model import SEVERITY_ERROR

from zuul_nodes import providerrecords
from zuul_nodes.configloader.errors import (
    SectionError,
    SectionGoneError,
    SpellingError,
    describe,
    explainConnection,
)
from zuul_nodes.configloader.flattening.flatten import setSectionLimits
from zuul_nodes.configloader.flattening.parts import LISTS
from zuul_nodes.configloader.flattening.precedence import merge
from zuul_nodes.configloader.flattening.spellings import spell
from zuul_nodes.configloader.flattening.vocabulary import (
    LIMITS,
    getVocabulary,
)
from zuul_nodes.configloader.objects.provider import ProviderConfig
from zuul_nodes.configloader.rules import ownpart

log = logging.getLogger('zuul.nodes.configloader')

NODES = 'nodes'


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
        errors = [error for errors in _getErrorLists(parsed_config)
                  for error in errors if error.severity == SEVERITY_ERROR]
        layout.last_good = LastGood(
            zk_client.client, tenant, parse_context, errors)
        if not errors:
            return parsed_config
        known = {config.canonical_name for config in parsed_config.providers}
        stand_ins = [
            StandIn(name, error)
            for name in providerrecords.getNames(
                zk_client.client, tenant.name) if name not in known
            if (error := layout.last_good.findError('provider', name))]
        if stand_ins:
            parsed_config = parsed_config.copy()
            parsed_config.providers = [*parsed_config.providers, *stand_ins]
        return parsed_config


class LastGood:
    """The last good definitions of a tenant's providers.

    :param KazooClient client:
    :param Tenant tenant:
    :param ParseContext parse_context:
    :param errors: the errors in the stanzas and files of the tenant.
    """

    def __init__(self, client, tenant, parse_context, errors):
        self.client = client
        self.tenant = tenant
        self.parse_context = parse_context
        self.errors = errors

    def remember(self, flattening, config):
        """Add what is needed later to the configuration of a provider.

        :param Flattening flattening: of a provider without an error.
        :param dict config: its flat configuration; changed.
        """
        ownpart.save(flattening, config)

    def findError(self, kind, canonical_name):
        """
        :param str kind: "provider" or "section".
        :param str canonical_name: of an object that the layout lacks.
        :return: an error that may have removed the object, or None.
        """
        project, _, name = map(
            urllib.parse.unquote_plus, canonical_name.rpartition('/'))
        tpc = self.tenant.getTPC(project)
        if tpc is None or kind not in tpc.load_classes:
            return None
        for error in self.errors:
            context = error.key.context
            if (context and context.project_canonical_name == project
                    and _mayConcern(error, kind, name)):
                return error
        return None

    def keepConfig(self, provider_config, layout, connections, error):
        """Return a configuration for a provider in error, report the error.

        :param ProviderConfig provider_config: the present stanza.
        :param Exception error: why the provider is in error.
        :return: as :meth:`getConfig`.  Without a configuration, the error is
            not reported here.
        """
        config = self.getConfig(provider_config, layout, connections)
        if isinstance(error, ConfigurationSyntaxError):
            what = (
                'Until this is corrected, the provider is out of service'
                if config is None else
                'Until this is corrected, the previous definition of the '
                'provider stays in use')
            text = str(error)
            stop = '' if text.endswith(('.', '?')) else '.'
            error.args = (f'{text}{stop} {what}',)
        if config is not None:
            self.parse_context.accumulator.addError(error)
        return config

    def getConfig(self, provider_config, layout, connections):
        """Combine the last good definition of a provider with the sections.

        :param ProviderConfig provider_config: the present stanza.
        :param Layout layout: the present objects of the tenant.
        :param dict connections: name -> connection
        :return: a flat configuration; None if ZooKeeper has none, or if the
            operator has removed or forbidden what it needs.
        """
        name = provider_config.canonical_name
        try:
            record = providerrecords.read(
                self.client, self.tenant.name, name)
            return record and self._getConfig(
                record['config'], provider_config, layout, connections)
        except ConfigurationSyntaxError as error:
            log.warning('Not keeping the last good definition of the '
                        'provider %s of the tenant %s, which does not fit '
                        'what the operator provides: %s',
                        name, self.tenant.name, error)
        except Exception:
            log.warning('Unable to read the last good definition of the '
                        'provider %s of the tenant %s:',
                        name, self.tenant.name, exc_info=True)
        return None

    def _getConfig(self, config, provider_config, layout, connections):
        misfit = 'they are in error'
        try:
            part = ownpart.find(config)
            provider_config, layout = ownpart.restore(
                part, provider_config.source_context, layout,
                self.parse_context)
        except Exception as error:
            # An older release wrote it, with other rules or without the part.
            misfit, part = repr(error), None
            provider_config = _makeBare(provider_config, config['section'])
        sections = self._getSections(provider_config, layout, part)
        if part and sections:
            try:
                _, combined = provider_config.combine(layout, connections)
                ownpart.attach(combined, part)
                return combined
            except Exception as error:
                misfit = error
        connection = _getConnection(
            provider_config, config['connection'], sections, connections)
        if sections:
            _update(config, provider_config, sections, getVocabulary(
                connection.driver.getProviderSchemaClass()), bool(part))
        provider_config.checkBounds(connection, layout, config)
        log.info('The last good definition of the provider %s of the tenant '
                 '%s stays in use without the changes of its sections, apart '
                 'from limits and static nodes: %s',
                 provider_config.canonical_name, self.tenant.name, misfit)
        return config

    def _getSections(self, provider_config, layout, part):
        """
        :return: a list of the section and the sections it inherits from;
            empty if a mistake in them hides what they are.
        :raises SectionGoneError: one of them has been removed, or is abstract
            now.
        """
        try:
            return provider_config.getSections(layout)
        except SectionGoneError as error:
            # The other reason is that it is abstract.
            if (error.section_name in layout.sections
                    or not self._isHidden(error.section_name, part)):
                raise
        except SectionError:
            pass
        return []

    def _isHidden(self, section_name, part):
        """
        :param str section_name: a section that the layout lacks.
        :return: whether a mistake may be the reason.
        """
        if part is None:
            return any(_mayConcern(error, 'section', section_name)
                       for error in self.errors)
        former = [name for name in part.sections
                  if urllib.parse.unquote_plus(
                      name.rpartition('/')[2]) == section_name]
        # If the provider has had no such section, the name is misspelt.
        return not former or self.findError('section', former[0]) is not None


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
        """:return: the configuration of the last good definition."""
        config = layout.last_good.getConfig(self, layout, connections)
        if config is None:
            raise LookupError(
                f'The provider "{self.name}" has no previous definition that '
                f'can stay in use: it is out of service')
        return config


def _makeBare(provider_config, section_name):
    """:return: a ProviderConfig that has nothing but its section."""
    bare = ProviderConfig(provider_config.name, section_name)
    bare.source_context = provider_config.source_context
    return bare


def _getConnection(provider_config, name, sections, connections):
    """
    :param str name: the connection of the last good configuration.
    :param list sections: the provider's section and that section's ancestors.
    :param dict connections: name -> connection
    :return: the connection.
    :raises ConfigurationSyntaxError: it is gone, or the sections have another
        one now.
    """
    if name not in connections:
        raise explainConnection(provider_config, name, connections)
    for config_object in sections:
        other = config_object.config.get('connection')
        # A name that zuul.conf does not have is a mistake.
        if other != name and other in connections:
            raise SectionError(
                f'The {describe(config_object)} has the connection "{other}" '
                f'instead of "{name}" now')
    return connections[name]


def _update(config, provider_config, sections, vocabulary, is_known):
    """Set the limits and the static nodes as the sections have them now.

    Invalid ones stay as they were.

    :param dict config: the flat configuration; changed.
    :param ProviderConfig provider_config: the last good stanza.
    :param list sections: its section and that section's ancestors.
    :param Vocabulary vocabulary: of the driver.
    :param bool is_known: whether the stanza is known; otherwise the limits
        of the provider itself stay as well.
    """
    chain = [provider_config, *sections]
    of_section, of_provider, nodes = (
        _collect(name, config_objects, vocabulary, config)
        for name, config_objects in (
            (LIMITS, sections), (LIMITS, chain), (NODES, chain)))
    if None not in (of_section, of_provider):
        setSectionLimits(config, sections[0], of_section.get(LIMITS))
        if is_known:
            config.pop(LIMITS, None)
            config.update(of_provider)
    if NODES in config and nodes is not None:
        config[NODES] = nodes.get(NODES, [])


def _collect(name, chain, vocabulary, config):
    """
    :param str name: an attribute of providers.
    :param chain: config objects, each of which overrides the next one.
    :param dict config: the flat configuration that needs the attribute.
    :return: a dict with the attribute, if they set it; None if they do so in
        an invalid way.
    """
    found = {}
    try:
        for config_object in reversed(chain):
            # A section may be for other drivers, too.
            found = merge(found, spell({
                key: value for key, value in config_object.config.items()
                if vocabulary.spellings.get(key, key) == name
                and name in vocabulary.provider
            }, vocabulary.spellings, config_object))
        vocabulary.provider_schema(
            config | {key: [] for key in LISTS} | found)
    except (SpellingError, vs.Invalid):
        return None
    return found


def _getErrorLists(parsed_config):
    return [errors for name, errors in vars(parsed_config).items()
            if name.endswith('_errors')]


def _mayConcern(error, kind, name):
    """:return: whether an error may have removed an object.

    An error about a whole file has no stanza.
    """
    mark = error.key.mark
    return mark is None or (mark.snippet.lstrip().startswith(f'{kind}:')
                            and _getName(mark, kind) in (None, name))


def _getName(mark, kind):
    """:return: the name in a stanza; None if it cannot be read."""
    try:
        stanza = yaml.safe_load(textwrap.dedent(mark.snippet))
        name = stanza[kind]['name']
    except Exception:
        return None
    return name if isinstance(name, str) else None
