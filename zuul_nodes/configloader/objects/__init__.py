"""Parsers of the stanzas: image, flavor, label, section and provider."""
