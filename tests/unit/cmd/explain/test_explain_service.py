"""``zuul-nodes explain`` beside a whole Zuul."""

import json
import re

import pytest

from tests.fixtures.programs import getRefusal

pytestmark = [pytest.mark.services, pytest.mark.seconds(140)]

TIMEOUT = 180
# Two tenants with the same providers.
TENANTS = '''\
- tenant:
    name: {name}
    source:
      git:
        config-projects:
          - zuul-config
        untrusted-projects:
          - demo
'''
BROKEN_PROVIDERS = '''
- provider:
    name: broken
    section: locl

- provider:
    name: unreadable
    section: [local]
'''


def test_explain_beside_a_whole_zuul_writes_nothing(makeSite, zuulNodes):
    site = makeSite()
    (site.settings.run / 'tenants.yaml').write_text(
        TENANTS.format(name='quickstart') + TENANTS.format(name='other'))
    site.startZooKeeper()

    def explain(*arguments):
        result = zuulNodes('explain', '-c', str(site.zuul_conf), *arguments)
        return withoutProgress(result)

    def refusal(*arguments):
        return getRefusal(explain(*arguments))

    assert 'no scheduler has run' in refusal('local', 'debian-local')
    site.startZuul()
    site.waitForZuul()
    site.services.waitFor(lambda: 'other' in site.api.tenants(),
                          'the other tenant is not loaded', TIMEOUT, 'web')

    # The same provider in two tenants
    assert ('several tenants have a provider "local": other, quickstart. '
            in refusal('local', 'debian-local'))
    local = ('--tenant', 'quickstart', 'local', 'debian-local')
    checkTable(explain(*local))
    checkJSON(explain(*local, '--format', 'json'), site)

    # What is not there
    assert 'Did you mean "quickstart"?' in refusal(
        '--tenant', 'quickstar', 'local', 'debian-local')
    assert 'Did you mean "local"?' in refusal('lokal', 'debian-local')
    assert 'has no provider "lokal". Did you mean "local"?' in refusal(
        '--tenant', 'quickstart', 'lokal', 'debian-local')
    assert 'Did you mean "debian-local"?' in refusal(
        '--tenant', 'quickstart', 'local', 'debian-lokal')

    # Other providers in error
    site.pushNodes(site.nodes_file.read_text() + BROKEN_PROVIDERS)
    site.services.waitFor(lambda: len(site.api.configErrors()) == 2,
                          'the errors are not noticed', TIMEOUT, 'web')
    checkTable(explain(*local))
    line = refusal('--tenant', 'quickstart', 'broken', 'debian-local')
    assert re.match(
        'zuul-nodes explain: the provider "broken" of the tenant '
        '"quickstart" is in error: .*"locl".* Did you mean "local"', line)
    line = refusal('--tenant', 'quickstart', 'unreadable', 'debian-local')
    assert '"unreadable" of the tenant "quickstart" is in error: ' in line
    assert 'zuul.d/nodes.yaml, line ' in line

    checkLock(site, zuulNodes, local)
    checkNothingWritten(site, explain, local)


def withoutProgress(result):
    """A machine may be slow: leave what is not about the time it takes."""
    result.stderr = ''.join(
        line for line in result.stderr.splitlines(keepends=True)
        if not line.endswith(' ...\n'))
    return result


def checkTable(result):
    assert (result.returncode, result.stderr) == (0, '')
    lines = result.stdout.splitlines()
    assert all(len(line) <= 120 for line in lines)
    header = {name: value.strip() for line in lines
              for name, colon, value in [line.partition(':')]
              if colon and not line.startswith('|')}
    assert header == {
        'Tenant': 'quickstart', 'Provider': 'local', 'Section': 'local',
        'Label': 'debian-local', 'Image': '(none)', 'Flavor': '(none)',
        'Driver': 'static', 'Project': 'localhost/zuul-config, branch master'}
    for expected in ('host-key-checking', 'label "debian-local" within',
                     'zuul.d/nodes.yaml:'):
        assert expected in result.stdout


def checkJSON(result, site):
    assert (result.returncode, result.stderr) == (0, '')
    data = {item['attribute']: item for item in json.loads(result.stdout)}
    lines = site.nodes_file.read_text().splitlines()

    def check(attribute, value, level, kind, name, first_line):
        assert data[attribute]['value'] == value
        assert data[attribute]['settings'] == [{
            'level': level, 'kind': kind, 'name': name,
            'project': 'localhost/zuul-config', 'branch': 'master',
            'file': 'zuul.d/nodes.yaml',
            'line': lines.index(first_line) + 1, 'value': value}]
    check('host-key-checking', True, 'label in provider', 'provider',
          'local', '      - name: debian-local')
    check('python-path', '/usr/bin/python3', 'label', 'label',
          'debian-local', '- label:')
    assert data['connection']['value'] == 'null'
    assert data['nodes']['value'][0]['connection-port'] == site.node.port


def checkLock(site, zuulNodes, arguments):
    """A tenant that is being reconfigured is waited for, but not long."""
    client = site.zookeeper.client()
    client.start()
    path = '/zuul/locks/tenant/quickstart'
    with client.WriteLock(path):
        result = zuulNodes('explain', '-c', str(site.zuul_conf),
                           '--timeout', '4', *arguments)
        assert len(client.get_children(path)) == 1
    client.stop()
    client.close()
    assert (result.returncode, result.stdout) == (1, '')
    *_, progress, line = result.stderr.splitlines()
    assert progress == 'Waiting for the lock of the tenant quickstart ...'
    assert 'not done within 4 s. A scheduler is about to reconfigure' in line


def checkNothingWritten(site, explain, arguments):
    for name in ('web', 'executor', 'scheduler'):
        site.end(name)
    before = site.readRecords()
    checkTable(explain(*arguments))
    assert site.readRecords() == before
