"""Images: how they get into the cloud, and snapshots of nodes."""
