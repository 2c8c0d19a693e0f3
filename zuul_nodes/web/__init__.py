"""What zuul-nodes adds to zuul-web: a page, and the REST endpoints behind it.

Both tell the users of a tenant why its requests wait, what the limits of its
providers leave, what is paused, and how far its images are.  zuul-web's own
caches have the objects of Zuul; the records of launchers are read at most once
in some seconds, however many browsers ask.

A tenant sees its own requests, and the providers and images of its layout.  Of
what it shares with other tenants, it sees totals.
"""
