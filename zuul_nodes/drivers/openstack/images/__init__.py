"""Upload, import and copy images, and create snapshots of nodes."""
