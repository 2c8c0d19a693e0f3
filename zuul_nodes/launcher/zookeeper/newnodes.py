"""Nodes that a transaction of ours creates or assigns."""


def commitNew(records, transaction, nodes):
    """Write what assigns nodes, or creates them; they are known as that
    before the watch tells of them.

    :param Records records: where they are known.
    :param Transaction transaction: of the session that they are written in.
    :param list nodes: records that it creates.
    :raises: as the transaction.
    """
    cache = records.nodes_cache
    expected = []
    try:
        for part, attributes in transaction.created_parts:
            cache.expectPart(part, attributes)
            expected.append(part)
        for node in nodes:
            cache.insert(node)
        transaction.commit()
    except BaseException:
        for part in expected:
            cache.discardPart(part)
        for node in nodes:
            cache.discard(node)
        for part in expected:
            # Somebody may have looked meanwhile.
            transaction.session.written(part.node)
        raise
    for each in (*expected, *nodes):
        cache.noteCreated(each)
