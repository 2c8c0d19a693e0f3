"""Zuul's own tests of the launcher and the static driver, run on ours.

``python -m tests.upstream`` fetches the tests from Zuul's source
distribution (nothing of them is in this tree), runs them with our classes
in place of Zuul's, and compares what comes of it with ``expected.yaml``.
What runs in the process of the tests, where the package ``tests`` is
Zuul's, is in ``inside/``.
"""
