"""Locks of the records of images, which commands change themselves."""

import contextlib
import logging

from kazoo.exceptions import NoNodeError
from zuul.zk.exceptions import LockException
from zuul.zk.zkobject import ZKContext

from zuul_nodes.exceptions import UserError

log = logging.getLogger('zuul.nodes.cmd')
# Errors about locks are reported to the user instead of logged.
log.addHandler(logging.NullHandler())


def makeContext(zk_client):
    """:return: a ZKContext."""
    return ZKContext(zk_client, None, None, log)


@contextlib.contextmanager
def locked(context, record_class, uuid, timeout):
    """Lock a record for the ``with`` block.

    :param ZKContext context: from :func:`makeContext`.
    :param record_class: an artifact's or an upload's.
    :param float timeout: seconds to wait for the lock.
    :return: the record.
    :raises UserError: it is gone, or a launcher keeps the lock.
    """
    try:
        record = record_class.fromZK(context, None, uuid=uuid)
        with record.locked(context, timeout=timeout, ensure_path=False):
            record.refresh(context)
            yield record
    except NoNodeError:
        raise UserError(f'{uuid} has just been deleted') from None
    except LockException:
        raise UserError(
            f'a launcher is working on {uuid}; try again when "zuul-nodes '
            f'images" shows that it is done') from None
