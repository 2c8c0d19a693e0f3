"""What the plugin costs when a tenant's configuration is loaded.

A tenant with many labels in many providers is parsed, put in a layout,
flattened and made into providers: by Zuul's own parsers and drivers, and
by ours.  Both run in turn, and the best time of each counts.  Exits with
status 1 if ours takes longer than is allowed.
"""

import configparser
import gc
import itertools
import pathlib
import sys
import time
from unittest import mock

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import yaml  # noqa: E402
from zuul import model  # noqa: E402
from zuul.configloader import safe_load_yaml  # noqa: E402
from zuul.driver.openstack import openstackendpoint  # noqa: E402
from zuul.lib.connections import ConnectionRegistry  # noqa: E402

from tests.fixtures.layout import (  # noqa: E402
    PARSERS,
    ZUULS_PARSERS,
    makeConnections,
)
from zuul_nodes.configloader.objects.stanzas import addTo  # noqa: E402

RUNS = 3
LIMIT = 1.1
LABELS, PROVIDERS, IMAGES, FLAVORS, NODES = 500, 20, 50, 10, 40
STEPS = ('parse', 'layout', 'flatten', 'provider')
# Zuul itself has no null connection.
ZUUL_CONF = {
    'connection desk': {'driver': 'static'},
    'connection cloud': {'driver': 'openstack', 'cloud': 'cloud'},
}


def makeText(driver, connection):
    """:return: the configuration of a tenant, as YAML."""
    cloud = driver == 'openstack'
    stanzas = [{'image': {'name': f'image-{n}', 'type': 'zuul',
                          'description': 'An image.'}}
               for n in range(IMAGES)]
    stanzas += [{'flavor': {'name': f'flavor-{n}'}} for n in range(FLAVORS)]
    stanzas += [{'label': {'name': f'label-{n}', 'min-ready': n % 3,
                           'image': f'image-{n % IMAGES}',
                           'flavor': f'flavor-{n % FLAVORS}'}}
                for n in range(LABELS)]
    base = {
        'name': 'base', 'abstract': True, 'connection': connection,
        'launch-timeout': 600,
        'image-defaults': {'username': 'zuul', 'python-path': 'auto'},
        'label-defaults': {'boot-timeout': 300, 'tags': {'team': 'a'}},
        'images': [{'name': f'image-{n}', 'import-timeout': 600}
                   for n in range(IMAGES)],
        'flavors': [f'flavor-{n}' for n in range(FLAVORS)]}
    if cloud:
        base['flavors'] = [{'name': name, 'flavor-name': 'm1.small'}
                           for name in base['flavors']]
        base['label-defaults'] |= {'networks': ['private'],
                                   'key-name': 'zuul'}
    else:
        base['nodes'] = [{'name': f'198.51.100.{n}', 'label': f'label-{n}'}
                         for n in range(NODES)]
    stanzas.append({'section': base})
    parent = 'base'
    for name in ('continent', 'country', 'site'):
        stanzas.append({'section': {
            'name': name, 'parent': parent, 'launch-attempts': 2,
            'label-defaults': {'tags': {name: 'x'}}}})
        parent = name
    stanzas += [{'provider': {
        'name': f'provider-{n}', 'section': 'site', 'launch-timeout': 300,
        'labels': [f'label-{number}' if number % 10 else
                   {'name': f'label-{number}', 'max-ready-age': 60}
                   for number in range(LABELS)]}}
        for n in range(PROVIDERS)]
    return yaml.dump(stanzas, sort_keys=False)


def makeZuulsConnections(config):
    """:return: name -> connection, as Zuul makes them without us."""
    registry = ConnectionRegistry()
    registry.configure(config, providers=True)
    return registry.connections


def load(text, parsers, connections):
    """:return: the seconds that each step took."""
    context = model.SourceContext(
        'example.com/nodes', 'nodes', 'example', 'main', 'zuul.yaml')
    # What YAML takes is none of ours.
    stanzas = safe_load_yaml(text, context)
    times = [time.process_time()]
    made = {kind: parser(None) for kind, parser in parsers.items()}
    parsed = [made[kind].fromYaml(conf)
              for stanza in stanzas for kind, conf in stanza.items()]
    times.append(time.process_time())
    layout = model.Layout(model.Tenant('tenant'))
    addTo(layout, parsed)
    for label in layout.labels.values():
        label.validateReferences(layout)
    times.append(time.process_time())
    configs = [(each, each.flattenConfig(layout, connections))
               for each in layout.provider_configs.values()]
    times.append(time.process_time())
    for each, config in configs:
        connection = connections[config['connection']]
        layout.addProvider(connection.driver.getProvider(
            mock.MagicMock(), connection, 'tenant', each.canonical_name,
            config, 'system'))
    times.append(time.process_time())
    assert len(layout.providers) == PROVIDERS
    assert all(len(provider.labels) == LABELS
               for provider in layout.providers.values())
    return [end - begin for begin, end in itertools.pairwise(times)]


def compare(driver, sides):
    """Print what each side takes.

    :param dict sides: name -> (text, parsers, connections).
    :return: how many times as long ours takes in all.
    """
    best = {}
    for _ in range(RUNS):
        for name, side in sides.items():
            gc.collect()
            times = load(*side)
            best[name] = min(best.get(name, times), times, key=sum)
    without, with_plugin = best['without'], best['with']
    for step, *times in [
            *zip(STEPS, without, with_plugin, strict=True),
            ('total', sum(without), sum(with_plugin))]:
        print(f'{driver:10} {step:9} {times[0]:9.3f} {times[1]:9.3f} '
              f'{times[1] / times[0]:9.2f}')
    return sum(with_plugin) / sum(without)


def main():
    config = configparser.ConfigParser()
    config.read_dict(ZUUL_CONF)
    zuuls, ours = makeZuulsConnections(config), makeConnections(config)
    print(f'{LABELS} labels, {PROVIDERS} providers, {IMAGES} images, '
          f'{FLAVORS} flavors; best of {RUNS}, in seconds of CPU')
    print(f'{"driver":10} {"step":9} {"without":>9} {"with":>9} '
          f'{"ratio":>9}')
    # For each image, it reads a file that says where the cloud is.
    with mock.patch.object(openstackendpoint.OpenstackProviderEndpoint,
                           'getImageFormat', return_value='qcow2'):
        ratios = [
            compare(driver, {
                'without': (makeText(driver, name), ZUULS_PARSERS, zuuls),
                'with': (makeText(driver, our_name), PARSERS, ours)})
            for driver, name, our_name in (('static', 'desk', None),
                                           ('openstack', 'cloud', 'cloud'))]
    return max(ratios) > LIMIT


if __name__ == '__main__':
    sys.exit(main())
