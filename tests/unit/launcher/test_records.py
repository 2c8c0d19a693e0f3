"""What a launcher knows of the records."""

import copy

from tests.fixtures.racks import cloud
from zuul_nodes.launcher import minready


def makeRecord(steps):
    """:return: a node's record that is not written."""
    provider = steps.getProvider('one')
    label = next(iter(provider.labels.values()))
    record, = steps.maker.makeNode(
        minready.makeSlot(label, provider), 'building')
    return record


def test_a_record_that_somebody_else_writes_at_the_same_time(
        steps, monkeypatch):
    """The watch tells of theirs while ours is being taken back."""
    steps.setLayout(cloud('one'))
    own = makeRecord(steps)
    theirs = copy.deepcopy(own)
    cache = steps.api.nodes_cache
    updateFromRaw = cache.updateFromRaw

    def discardFirst(record, *args):
        cache.discard(own)
        updateFromRaw(record, *args)
    monkeypatch.setattr(cache, 'updateFromRaw', discardFirst)
    cache.insert(own)
    transaction = steps.store.transaction()
    transaction.create(theirs)
    transaction.commit()
    steps.runUntil(lambda: cache.getItem(own.uuid) not in (own, None))
    assert cache.getItem(own.uuid).state == 'building'
