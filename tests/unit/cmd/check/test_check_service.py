"""``zuul-nodes check`` beside a whole Zuul."""

import pytest

pytestmark = [pytest.mark.services, pytest.mark.seconds(130)]

TIMEOUT = 200


def test_check_finds_a_missing_machine_and_writes_nothing(makeSite, zuulNodes):
    site = makeSite()
    site.startZooKeeper()

    def check(*arguments):
        return zuulNodes('check', '-c', str(site.zuul_conf), *arguments)

    result = check('local')
    assert result.returncode == 2
    assert 'no scheduler has run' in result.stderr
    site.startZuul()
    site.services.waitFor(lambda: check('local').returncode != 2,
                          'the tenant is not loaded', TIMEOUT, 'scheduler')

    # Its machine is not there, and then it is.
    result = check('--full', 'local')
    assert result.returncode == 1
    assert 'Unable to connect to 127.0.0.1' in result.stdout
    site.startNode()
    result = check('local')
    assert result.returncode == 0
    assert 'No problems: 2 questions.' in result.stdout

    result = check('--tenant', 'quickstar', 'local')
    assert result.returncode == 2
    assert 'Did you mean "quickstart"?' in result.stderr
    result = check('lokal')
    assert result.returncode == 2
    assert 'Did you mean "local"?' in result.stderr

    # Nothing is written
    for name in ('web', 'executor', 'scheduler'):
        site.end(name)
    before = site.readRecords()
    assert check('local').returncode == 0
    assert site.readRecords() == before
