"""Rules about whole layouts: the entry points ``zuul.layout_rules``."""
