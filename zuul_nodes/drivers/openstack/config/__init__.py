"""The configuration of OpenStack, in git and in ``zuul.conf``."""
