"""Why images are not in service, by the records of layouts."""

import pytest

from zuul_nodes.imagelayouts import ImageLayout
from zuul_nodes.imageproblems import findCircles


def makeLayouts(text):
    """
    :param str text: tenants, separated by semicolons: the name, and the images
        that it validates, each with those that its jobs need; in brackets,
        images that it only has.
    """
    layouts = {}
    for tenant in text.split(';'):
        tenant_name, *images = tenant.split()
        layouts[tenant_name] = ImageLayout('', {}, {
            name.strip('()'): {
                'runs': {'image-validate': [] if '(' in name else ['check']},
                'needs': list(needs)}
            for name, _, needs in (each.partition(':') for each in images)})
    return layouts


@pytest.mark.parametrize('text, circles', [
    ('t a: b:', {}),
    ('t a:b b:', {}),
    ('t a:b b:c c:', {}),
    ('t a:b b:a', {'a': 'aba', 'b': 'bab'}),
    ('t a:b b:c c:a d:', {'a': 'abca', 'b': 'bcab', 'c': 'cabc'}),
    # It does not get that far.
    ('t a:b b:a c:ad d:', {'a': 'aba', 'b': 'bab', 'c': 'caba'}),
    # What no tenant validates is no part of a circle.
    ('t a:b (b):a', {}),
    ('t a:b', {}),
    # Two of them.
    ('t a:b b:a c:d d:c', {'a': 'aba', 'b': 'bab', 'c': 'cdc', 'd': 'dcd'}),
    # Another tenant has another job.
    ('t a:b b:a;u b:', {}),
    ('t a:b b:a;u a:b b:a', {'a': 'aba', 'b': 'bab'}),
    ('t a:b (b);u (a) b:a', {'a': 'aba', 'b': 'bab'}),
    ('t a:b b:c c:a;u c:d d:', {}),
    # The image between is none of its own.
    ('t a:b c:a;u b:c', {}),
    ('t (a) (b);u a:b b:a', {'a': 'aba', 'b': 'bab'}),
])
def test_images_that_wait_for_one_another(text, circles):
    found = findCircles(makeLayouts(text), 't')
    assert {name: ''.join(path) for name, path in found.items()} == circles


def test_records_of_the_last_release_have_no_circles():
    layout = ImageLayout('', {}, {'a': {'runs': {'image-validate': ['v']}}})
    assert findCircles({'t': layout}, 't') == {}
