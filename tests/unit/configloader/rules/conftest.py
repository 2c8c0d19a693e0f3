"""How schedulers write layouts."""

import logging
import types

import pytest
from zuul.model_api import MODEL_API
from zuul.zk.components import COMPONENT_REGISTRY
from zuul.zk.zkobject import ZKContext


@pytest.fixture
def context(zk_client, monkeypatch):
    monkeypatch.setattr(COMPONENT_REGISTRY, 'registry',
                        types.SimpleNamespace(model_api=MODEL_API))
    return ZKContext(zk_client, None, None, logging.getLogger('test'))
