"""Clouds on loopback, for tests: real HTTP and real state."""
