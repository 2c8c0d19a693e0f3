"""What runs drivers with an adapter: states, calls, lists and schemas.

Authors of drivers import what they need from :mod:`zuul_nodes.drivers` only.
"""
