"""What works for the authors of drivers: states, calls, lists and schemas.

What of it they use, they import from :mod:`zuul_nodes.drivers` alone.
"""
