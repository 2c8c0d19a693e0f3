"""Drivers, one folder each.  They know nothing of one another."""
