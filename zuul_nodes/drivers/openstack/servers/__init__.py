"""Servers: made, listed and removed, with what is made for them."""
