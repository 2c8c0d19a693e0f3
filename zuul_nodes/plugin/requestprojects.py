"""The seams at which a request for nodes records what Zuul knows of its job.

Zuul records the tenant, the pipeline and the job of a request.  The project is
missing, but sites need it in the bills of their clouds.  The number of
alternatives of the nodeset is missing, too: where there are some, a request
need not wait as long.  Both are written together with the record, because a
launcher acts on a request as soon as it exists.
"""

import contextvars
import functools
import json

from zuul_nodes import requestnotes

_notes = contextvars.ContextVar('notes', default=None)


def wrapRequestNodeset(request, extensions):
    @functools.wraps(request)
    def wrapper(self, item, job, *args, **kwargs):
        change = item.getChangeForJob(job) or item.changes[0]
        project = change.project
        token = _notes.set({
            'project_name': project.name,
            'project_canonical_name': project.canonical_name,
            requestnotes.ALTERNATIVES: max(
                0, len(job.nodeset_alternatives) - job.nodeset_index - 1)})
        try:
            return request(self, item, job, *args, **kwargs)
        finally:
            _notes.reset(token)
    return wrapper


def wrapSerialize(serialize, extensions):
    @functools.wraps(serialize)
    def wrapper(self, context):
        data = serialize(self, context)
        notes = requestnotes.get(self) or _notes.get()
        if not notes:
            return data
        # Keep the notes when any process writes the record again.
        added = {requestnotes.NOTES: notes}
        self._set(**added)
        return json.dumps(json.loads(data) | added, sort_keys=True).encode()
    return wrapper
