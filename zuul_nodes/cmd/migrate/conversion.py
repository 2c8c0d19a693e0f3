"""The whole conversion: from files of Nodepool to the texts of new files."""

import dataclasses

from zuul_nodes.cmd.migrate import (
    builders,
    connections,
    flavors,
    images,
    jobs,
    labels,
    loading,
    metastatic,
    pipelines,
    report,
    site,
    stanzas,
    static,
    tenant,
    yamltext,
)
from zuul_nodes.cmd.migrate.clouds import Clouds
from zuul_nodes.cmd.migrate.drivers import DRIVERS, GONE, METASTATIC, STATIC
from zuul_nodes.cmd.migrate.report import Kind, Report
from zuul_nodes.cmd.migrate.tree import Mapping
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest

MIGRATION = 'MIGRATION.md'
CONNECTIONS = 'zuul.conf'
# The directory of the configuration from images to providers.
NODES = 'nodes/zuul.d'
# Path of a file -> its purpose.
PURPOSES = {
    CONNECTIONS: 'connections, for `zuul.conf` of all of Zuul\'s services',
    'tenant.yaml': 'what the tenant needs in the tenant configuration',
    'config/zuul.d/image-pipelines.yaml':
        'pipelines that build images, for a config project',
    f'{NODES}/images.yaml': 'what nodes boot from',
    f'{NODES}/flavors.yaml': 'sizes',
    f'{NODES}/labels.yaml': 'what jobs request',
    f'{NODES}/sections.yaml': 'clouds and regions',
    f'{NODES}/providers.yaml': 'pools',
    f'{NODES}/image-jobs.yaml': 'jobs that build images',
    f'{NODES}/secrets.yaml': 'secrets of these jobs, to be completed',
}


@dataclasses.dataclass
class Result:
    """
    :ivar dict files: path -> text.
    :ivar Report report:
    :ivar dict counts: what there is -> number.
    """
    files: dict
    report: Report
    counts: dict


def convert(sources, secrets, tenant_name, clouds=None):
    """
    :param sources: list of :class:`~reading.Source`.
    :param Secrets secrets:
    :param str tenant_name:
    :param clouds: names of the clouds in clouds.yaml, or None.
    :return: a :class:`Result`.
    :raises UserError: the files cannot be converted.
    """
    remarks = Report()
    whole = site.load(sources, remarks)
    connections.remarkSettings(whole, remarks)
    links = connections.Connections(remarks)
    new = Clouds(remarks)
    slots = _addProviders(whole, new, links, remarks)
    if clouds is not None:
        _checkClouds(links, clouds, remarks)
    labels.removeDisabled(whole, new, remarks)
    chosen, types = images.choose(new, remarks)
    sizes, names = flavors.choose(new.offers, remarks)
    label_stanzas = labels.convert(whole, new, chosen, sizes, slots, remarks)
    image_stanzas = stanzas.makeImages(types, whole, new)
    work = jobs.Jobs(whole, remarks)
    _addJobs(work, new, image_stanzas, label_stanzas, chosen, types, remarks)
    used = {stanza.get('flavor') for stanza in label_stanzas}
    contents = {
        'tenant.yaml': stanzas.makeFile('tenant', [tenant.make(
            tenant_name, work.timeout if work.jobs else None)]),
        'config/zuul.d/image-pipelines.yaml': stanzas.makeFile(
            'pipeline', pipelines.make(work.periods) if work.jobs else []),
        f'{NODES}/images.yaml': stanzas.makeFile('image', image_stanzas),
        f'{NODES}/flavors.yaml': stanzas.makeFile('flavor', [
            Mapping({'name': name}) for name in names if name in used]),
        f'{NODES}/labels.yaml': _makeLabels(whole, label_stanzas),
        f'{NODES}/sections.yaml': stanzas.makeFile(
            'section', stanzas.makeSections(new, links.names)),
        f'{NODES}/providers.yaml': stanzas.makeFile(
            'provider', stanzas.makeProviders(new)),
        f'{NODES}/image-jobs.yaml': _makeJobs(work),
        f'{NODES}/secrets.yaml': stanzas.makeFile('secret', work.secrets),
    }
    if not new.sections and not work.jobs:
        raise UserError(_explainNothing(whole))
    _remarkTenant(remarks, new)
    files = _write(contents, links, sources, secrets, remarks, new)
    return Result(files, remarks, {
        'sections': len(new.sections), 'providers': len(new.pools),
        'labels': len(label_stanzas), 'images': len(image_stanzas),
        'flavors': len(used - {None})})


def _addProviders(whole, new, links, remarks):
    """:return: name of a label with slots -> attributes."""
    for provider in whole.providers.values():
        subject = f'provider {provider.name}'
        if provider.driver in DRIVERS:
            driver = DRIVERS[provider.driver]
            links.add(provider, driver)
            new.addProvider(provider, driver)
        elif provider.driver == STATIC:
            links.names[provider.name] = None
            static.addProvider(new, provider, remarks)
        elif provider.driver in GONE:
            remarks.add(
                Kind.LOST, f'The driver "{provider.driver}" has no '
                f'counterpart: {GONE[provider.driver]}. Nodepool goes on '
                f'serving the labels that only this provider has',
                provider.origin, subject)
        elif provider.driver != METASTATIC:
            known = [*DRIVERS, STATIC, METASTATIC, *GONE]
            raise UserError(
                f'{provider.origin}: the provider "{provider.name}" has the '
                f'unknown driver "{provider.driver}". '
                f'{suggest(provider.driver, known)}')
        if provider.driver in DRIVERS or provider.driver == STATIC:
            remarks.add(
                Kind.DONE, 'A provider became a section, and each of its '
                'pools a provider', provider.origin, subject)
        if not provider.pools and provider.driver in DRIVERS:
            remarks.add(
                Kind.DECIDE, 'The provider has no pools, so there is a '
                'section alone: name the file of the launcher, too',
                provider.origin, subject)
    slots = {}
    for provider in whole.providers.values():
        if provider.driver == METASTATIC:
            slots |= metastatic.addProvider(new, provider, remarks)
    return slots


def _checkClouds(links, clouds, remarks):
    for name, options in links.options.items():
        cloud = options.get('cloud')
        if cloud is not None and cloud not in clouds:
            remarks.add(Kind.DECIDE, f'The cloud "{cloud}" of the connection '
                        f'"{name}" is not in clouds.yaml')


def _addJobs(work, new, image_stanzas, label_stanzas, chosen, types, remarks):
    present = {stanza['name'] for stanza in image_stanzas}
    of_images = {}
    for stanza in label_stanzas:
        of_images.setdefault(stanza.get('image'), stanza['name'])
    used = {name: image_type for name, image_type in types.items()
            if name in present}
    work.add(used, of_images, builders.Builders(new, chosen, types, remarks))


def _makeLabels(whole, label_stanzas):
    content = stanzas.makeFile('label', label_stanzas)
    _, origin = whole.getSetting('labels')
    if content and origin.above:
        content.origins[0] = dataclasses.replace(
            content.origins[0],
            above=(*origin.above, *content.origins[0].above))
    return content


def _makeJobs(work):
    content = stanzas.makeFile('job', work.jobs)
    project = work.makeProject()
    if project:
        content.add(*stanzas.wrap('project', project))
    return content


def _explainNothing(whole):
    drivers = sorted({provider.driver for provider
                      in whole.providers.values()})
    return ('there is nothing to convert: ' + ('; '.join(
        f'the driver "{driver}" has no counterpart: '
        f'{GONE.get(driver, "its labels need others that back them")}'
        for driver in drivers) or 'there is no provider'))


def _remarkTenant(remarks, new):
    remarks.add(
        Kind.DECIDE, f'Complete "tenant.yaml": "{tenant.CONNECTION}" is the '
        f'connection of your git server, "{tenant.CONFIG}" and '
        f'"{tenant.NODES}" stand for your projects. Set "use-nodepool: '
        f'false" when Nodepool serves no label of the tenant any more')
    remarks.add(
        Kind.CHANGED, 'Labels are objects of tenants: each tenant that uses '
        'them has to include the project with "include-provider-config: '
        'true"')


def _write(contents, links, sources, secrets, remarks, new):
    files, shown = {}, set()
    files[CONNECTIONS], comments = connections.write(links.options)
    shown |= comments
    for path, content in contents.items():
        if content:
            files[path], comments = yamltext.write(content)
            shown |= comments
    files = {path: files[path] for path in PURPOSES if files.get(path)}
    loading.check({path: text for path, text in files.items()
                   if path.startswith(NODES)}, links, new, remarks)
    shown |= remarks.carriedComments()
    # The same text at several providers is there once.
    texts = {comment.text for comment in shown}
    left = [comment for source in sources for comment in source.comments
            if comment.text not in texts]
    files[MIGRATION] = report.write(
        remarks, [source.name for source in sources], secrets,
        {path: PURPOSES[path] for path in files}, left)
    return files
