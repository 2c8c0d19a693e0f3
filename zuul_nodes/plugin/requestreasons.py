"""The seams at which the scheduler says why a job gets no nodes.

Zuul's text is "Node(set) request X failed".  The launcher writes the reason to
the record of the request.  These seams append it, so that it becomes the error
detail of the build: users read it in the web UI, and in what Zuul reports on a
change.
"""

import contextvars
import functools

from zuul_nodes import requestnotes

_reason = contextvars.ContextVar('reason', default=None)


def wrapOnNodesProvisioned(proceed, extensions):
    @functools.wraps(proceed)
    def wrapper(self, request, nodeset_info, build_set):
        # Requests to Nodepool have no notes.
        token = _reason.set(requestnotes.getReason(request))
        try:
            return proceed(self, request, nodeset_info, build_set)
        finally:
            _reason.reset(token)
    return wrapper


def wrapSetFailure(setFailure, extensions):
    @functools.wraps(setFailure)
    def wrapper(self, job, error):
        if reason := _reason.get():
            error = f'{error}: {reason}'
        return setFailure(self, job, error)
    return wrapper
