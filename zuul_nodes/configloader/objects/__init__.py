"""What people write: image, flavor, label, section and provider, parsed."""
