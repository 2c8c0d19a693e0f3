"""The contract between the launcher and drivers, for authors of drivers.

Authors import its names from :mod:`zuul_nodes.drivers` only.
"""
