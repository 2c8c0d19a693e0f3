"""Launchers against an ensemble and clouds that are broken on purpose.

Three ZooKeeper servers, three processes of ``zuul-nodes launcher``, and a
cloud process are real; a scheduler with executors is played by
:mod:`.scheduler`.  :mod:`.faults` breaks them by a plan that depends on the
seed only.  When everything works again and all requests have ended,
:mod:`.invariants` checks what ZooKeeper's transaction logs and the cloud's
history say about all that has happened.
"""
