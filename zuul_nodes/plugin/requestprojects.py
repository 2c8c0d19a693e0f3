"""The seams at which a request for nodes records the project of its job.

Zuul records the tenant, the pipeline and the job of a request.  The project is
missing, but sites need it in the bills of their clouds.  It is written
together with the record, because a launcher acts on a request as soon as it
exists.

A Zuul without the plugin reads such a record like any other.  If it writes the
record, the project is lost, and its fields in tags are empty.
"""

import contextvars
import functools
import json

# The attribute of a request, and the key in its record.
OWN = 'zuul_nodes'
_own = contextvars.ContextVar('own', default=None)


def wrapRequestNodeset(request, extensions):
    @functools.wraps(request)
    def wrapper(self, item, job, *args, **kwargs):
        change = item.getChangeForJob(job) or item.changes[0]
        project = change.project
        token = _own.set({
            'project_name': project.name,
            'project_canonical_name': project.canonical_name})
        try:
            return request(self, item, job, *args, **kwargs)
        finally:
            _own.reset(token)
    return wrapper


def wrapSerialize(serialize, extensions):
    @functools.wraps(serialize)
    def wrapper(self, context):
        data = serialize(self, context)
        own = getattr(self, OWN, None) or _own.get()
        if not own:
            return data
        # Keep the project when any process writes the record again.
        self._set(**{OWN: own})
        return json.dumps(json.loads(data) | {OWN: own},
                          sort_keys=True).encode()
    return wrapper
