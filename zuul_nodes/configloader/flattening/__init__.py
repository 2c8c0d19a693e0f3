"""Flattening: combines many stanzas into the configuration of one provider."""
