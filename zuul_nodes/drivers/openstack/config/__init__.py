"""What is configured: in git, and in ``zuul.conf``."""
