"""Configuration objects: parsed, flattened, and held to rules."""
