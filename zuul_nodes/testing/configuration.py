"""Tests of the configuration and of its error messages."""

from collections.abc import Mapping

import pytest
import yaml

from zuul_nodes.drivers import Driver
from zuul_nodes.drivers.framework.connection import makeSchema
from zuul_nodes.testing.cloud import Cloud
from zuul_nodes.testing.scenarios import MakeSite, Scenarios

UNKNOWN = 'no-such-attribute'
SCHEMAS = ('provider_attributes', 'label_attributes', 'flavor_attributes',
           'image_attributes', 'cloud_image_attributes',
           'zuul_image_attributes')


class ConfigurationScenarios(Scenarios):

    def test_documentation(self) -> None:
        """Every declared attribute has documentation."""
        if not issubclass(self.driver_class, Driver):
            pytest.skip('the driver does not use zuul_nodes.drivers')
        assert self.driver_class.__doc__, (
            f'{self.driver_class.__name__} has no docstring')
        schemas = [(name, getattr(self.driver_class, name))
                   for name in SCHEMAS]
        schemas.append(('connection_attributes',
                        makeSchema(self.driver_class).schema))
        missing = [f'{name}: {key}' for name, schema in schemas
                   for key in schema if not getattr(key, 'doc', None)]
        assert not missing, f'attributes without a doc: {missing}'

    def test_configuration(self, makeSite: MakeSite, cloud: Cloud) -> None:
        """Providers have their configuration, and reject unknown attributes.
        """
        site = makeSite()
        provider, = site.makeProviders()
        assert 'label' in provider.labels
        for kind in ('images', 'flavors', 'labels'):
            changed = change(
                cloud.configuration, kind, {UNKNOWN: 'value'})
            if changed is None:
                continue
            try:
                site.makeProviders(changed)
            except Exception as error:
                assert UNKNOWN in str(error), (
                    f'"{UNKNOWN}" in {kind} is rejected, but the error does '
                    f'not name it: {error!r}')
            else:
                pytest.fail(f'"{UNKNOWN}" in {kind} is not rejected')


def change(text: str, kind: str, attributes: Mapping[str, object],
           name: str | None = None) -> str | None:
    """
    :param text: the configuration of a tenant.
    :param kind: images, flavors or labels.
    :param attributes: additional attributes of an object of this kind in a
        section or provider.
    :param name: of the object; by default, the first one.
    :return: the changed text, or None if there is no such object.
    """
    documents = yaml.safe_load(text)
    for document in reversed(documents):
        (what, content), = document.items()
        if what not in ('section', 'provider'):
            continue
        things = content.get(kind) or []
        for number, thing in enumerate(things):
            full = {'name': thing} if isinstance(thing, str) else thing
            if name in (None, full['name']):
                things[number] = {**full, **attributes}
                return yaml.safe_dump(documents)
    return None
