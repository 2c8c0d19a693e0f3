"""The seam at which zuul-web tells why requests wait.

The launcher that plans keeps the reasons in a record of each tenant.  This
seam adds them to what the API says of the tenant's requests.
"""

import functools
import logging

from zuul_nodes import waits

log = logging.getLogger('zuul.nodes.plugin')


def wrapTellRequests(tell, extensions):
    @functools.wraps(tell)
    def wrapper(self, tenant_name, tenant, auth):
        requests = tell(self, tenant_name, tenant, auth)
        try:
            found = waits.read(self.zuulweb.zk_client.client, tenant.name)
        except Exception:
            # Show what Zuul knows.
            log.exception('Unable to read why requests of tenant %s wait:',
                          tenant.name)
            found = {}
        for request in requests:
            wait = found.get(request['uuid'])
            if request['state'] != 'requested':
                wait = None
            request['wait_reason'] = wait and wait.reason
            request['wait_ahead'] = wait and wait.ahead
        return requests
    return wrapper
