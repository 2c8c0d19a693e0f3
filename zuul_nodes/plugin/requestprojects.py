"""The seam at which a request for nodes says of which project its job is.

Zuul writes the tenant, the pipeline and the job into the record of a request,
and not the project, which people want on the bills of their clouds.  It is
written with the record, in the same call: a launcher acts on a request as soon
as there is one.

A Zuul without the plugin reads such a record like any other.  If one writes
it, the project is gone, and its fields in tags are empty.
"""

import contextvars
import functools
import json

# Attribute of a request, and entry of its record.
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
        # It keeps what it has, whoever writes it next.
        self._set(**{OWN: own})
        return json.dumps(json.loads(data) | {OWN: own},
                          sort_keys=True).encode()
    return wrapper
