"""A value of a wrong type ends with one line that names its place, or with
remarks about what is left out."""

import copy
import itertools
import re

import pytest
import yaml

from zuul_nodes.cmd import main

SITE = yaml.safe_load('''
labels: [{name: l, min-ready: 1}, {name: small}]
diskimages:
  - {name: d, elements: [vm], env-vars: {A: b}, formats: [raw], parent: b,
     rebuild-age: 86400, release: x, metadata: {a: b}, build-timeout: 3,
     dib-cmd: x, username: u, pause: false}
  - {name: b, abstract: true, env-vars: {B: c}, elements: [x]}
elements-dir: /x
tenant-resource-limits: [{tenant-name: t, max-servers: 1}]
providers:
  - {name: p, cloud: c, region-name: r, rate: 1, boot-timeout: 3,
     diskimages: [{name: d, config-drive: true, meta: {a: b}}],
     cloud-images: [{name: i, image-id: x, username: u}], pools: [
       {name: main, max-servers: 3, networks: [n], node-attributes: {a: b},
        availability-zones: [a], security-groups: [s], labels: [
          {name: l, cloud-image: i, flavor-name: f, min-ram: 3,
           volume-size: 3, boot-from-volume: true, networks: [x],
           instance-properties: {a: b}}]}]}
  - {name: a, driver: aws, region-name: r, profile-name: q, cloud-images: [
       {name: ai, image-filters: [{name: n, values: [v]}], username: u}],
     pools: [{name: main, subnet-ids: [s], labels: [
       {name: l, cloud-image: ai, instance-type: t, tags: {a: b}}]}]}
  - {name: z, driver: azure, location: l, resource-group: g,
     network: {network: n}, cloud-images: [
       {name: zi, username: u, image-reference: {
          sku: s, publisher: p, offer: o, version: v}}],
     pools: [{name: main, labels: [
       {name: l, cloud-image: zi, hardware-profile: {vm-size: v}}]}]}
  - {name: k, driver: kubernetes, context: x, pools: [{name: ci, labels: [
       {name: kl, type: pod, image: docker.io/x, cpu: 2, labels: {a: b},
        env: [{name: A, value: b}]}]}]}
  - {name: s, driver: static, pools: [{name: main, nodes: [
       {name: 192.0.2.1, labels: sl x, username: u, host-key: [x]}]}]}
  - {name: m, driver: metastatic, pools: [{name: main, labels: [
       {name: small, backing-label: l, max-parallel-jobs: 4}]}]}
''')
WRONG = (5, [[1]], {'q': [1]}, 'text', None)


def getPaths(value, path=()):
    """:return: yields the path of each value, the outer ones first."""
    if path:
        yield path
    keys = (value if isinstance(value, dict) else range(len(value))
            if isinstance(value, list) else ())
    for key in keys:
        yield from getPaths(value[key], (*path, key))


# Every third place has one wrong value: the kinds take turns.
CASES = list(zip(getPaths(SITE), itertools.cycle(WRONG)))[::3]


def replace(path, value):
    site = part = copy.deepcopy(SITE)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return site


@pytest.mark.parametrize('name', sorted({path[0] for path, _ in CASES}))
def test_a_value_of_a_wrong_type(name, tmp_path, capsys):
    file = tmp_path / 'nodepool.yaml'
    output = tmp_path / 'out'
    for path, value in CASES:
        if path[0] != name:
            continue
        file.write_text(yaml.safe_dump(replace(path, value), sort_keys=False))
        status = main(
            ['migrate', str(file), '--output', str(output), '--force'])
        message = capsys.readouterr().err
        case = path, value, message
        if status:
            assert re.match(
                r'zuul-nodes migrate: nodepool\.yaml:\d+: [^\n]*\n$',
                message), case
        else:
            assert not message, case
            assert (output / 'MIGRATION.md').exists(), case
