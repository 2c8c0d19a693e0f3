"""Many stanzas become one flat configuration of a provider."""
