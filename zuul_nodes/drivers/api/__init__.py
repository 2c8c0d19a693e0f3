"""The contract of drivers: what their authors read.

They import it from :mod:`zuul_nodes.drivers` alone.
"""
