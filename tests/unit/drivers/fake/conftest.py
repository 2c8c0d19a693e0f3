import pytest

from tests.fixtures.launcher import Steps


@pytest.fixture
def launch(zuul_conf, tmp_path):
    """:return: a function that makes a launcher with a fake cloud, which
        has the options that it gets and is in a file."""
    launchers = []

    def launch(**options):
        zuul_conf.read_dict({
            'launcher': {'temp_dir': tmp_path},
            'connection fake': {
                'driver': 'fake', 'path': str(tmp_path / 'cloud'), **options}})
        launchers.append(Steps(zuul_conf))
        return launchers[-1]

    yield launch
    for launcher in launchers:
        launcher.end()
