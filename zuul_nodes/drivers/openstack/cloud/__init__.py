"""The objects, limits and errors of the cloud."""
