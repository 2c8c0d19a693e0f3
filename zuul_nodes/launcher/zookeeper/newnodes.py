"""Creates and assigns nodes, and adds them to the cache at once."""


def commitNew(records, transaction, nodes):
    """Commit a transaction that creates or assigns nodes.

    The cache has the new records before the watch reports them.

    :param Records records: has the cache.
    :param Transaction transaction: creates the records.
    :param list nodes: the new records.
    :raises Exception: as :meth:`.Transaction.commit`.
    """
    cache = records.nodes_cache
    expected = {}
    try:
        for part, attributes in transaction.created_parts:
            expected[part] = cache.expectPart(part, attributes)
        for node in nodes:
            cache.insert(node)
        transaction.commit()
    except BaseException:
        for part, known in expected.items():
            cache.discardPart(part, known)
        for node in nodes:
            cache.discard(node)
        for part in expected:
            # Another thread may have processed the node meanwhile.
            transaction.session.written(part.node)
        raise
    for each in (*expected, *nodes):
        cache.noteCreated(each)
