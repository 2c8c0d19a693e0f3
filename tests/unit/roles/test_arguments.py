"""What jobs tell the roles is looked at before anything is done with it."""

import pytest

pytestmark = pytest.mark.roles

SECRET = 'not for the log'
URL = {'zuul_nodes_storage_url': 'http://127.0.0.1:1'}
HTTP = URL | {'zuul_nodes_storage': 'http'}
SWIFT = URL | {'zuul_nodes_storage': 'swift',
               'zuul_nodes_storage_container': 'images'}
DIRECTORY = URL | {'zuul_nodes_storage': 'directory',
                   'zuul_nodes_storage_directory': '/srv/images'}


@pytest.mark.parametrize('variables, message', [
    ({'zuul_nodes_elements': ['--image-cache=/']}, 'names of elements'),
    ({'zuul_nodes_elements': 3}, 'zuul_nodes_elements'),
    ({'zuul_nodes_elements_path': ['/mine:/others']}, 'without colons'),
    ({'zuul_nodes_image_size': 'much'}, 'zuul_nodes_image_size'),
    ({'zuul_nodes_dib_environment': ['A=1']}, 'zuul_nodes_dib_environment'),
    ({'zuul_nodes_directory': '/srv/../etc'}, 'absolute path'),
    ({'zuul_nodes_directory': 'here'}, 'absolute path'),
    ({'zuul_nodes_image_name': '../debian'}, 'called like the image'),
    ({'zuul': {'build': '..', 'image_build_name': 'debian'}},
     'of the build \\"..\\"'),
    (DIRECTORY | {'zuul_nodes_storage_url': 'http://me:secret@here'},
     'has to be a URL without user'),
    (DIRECTORY | {'zuul_nodes_storage_url': 'http://here/'},
     'has to be a URL without user'),
    (DIRECTORY | {'zuul_nodes_storage_url': 'http://here/a b'},
     'has to be a URL without user'),
    (HTTP | {'zuul_nodes_storage_upload_url': 'file:///etc'}, 'http://'),
    (HTTP | {'zuul_nodes_credentials': {'password': SECRET, 'usr': 'me'}},
     'zuul_nodes_credentials.usr'),
    (SWIFT | {'zuul_nodes_storage_container': '--help'}, 'with \\"-\\"'),
    (SWIFT | {'zuul_nodes_credentials': SECRET}, 'zuul_nodes_credentials'),
    (DIRECTORY | {'zuul_nodes_storage_directory': '/srv/../etc'},
     'absolute path')])
def test_a_build_does_not_begin_with_wrong_arguments(
        job, variables, message):
    output = job.fail('build-image', **variables)
    assert message in output
    assert 'Install' not in output
    assert SECRET not in output


@pytest.mark.parametrize('variables, message', [
    ({'zuul_nodes_validate_names': ['-V']}, 'names of hosts'),
    ({'zuul_nodes_validate_services': ['--all']}, 'of systemd units'),
    ({'zuul_nodes_validate_free': 'some'}, 'zuul_nodes_validate_free')])
def test_a_node_is_not_tried_with_wrong_arguments(job, variables, message):
    output = job.fail('validate-image', **variables)
    assert message in output
    assert 'Look at the node' not in output


def test_nothing_is_removed_but_the_directory_of_the_build(job, tmp_path):
    file = tmp_path / 'node/file'
    file.parent.mkdir()
    file.touch()
    for build in ('..', '', 'a/../..'):
        job.variables['zuul']['build'] = build
        assert 'has to be an absolute path' in job.fail('clean')
    assert file.exists()
