"""The configuration loader: parses, flattens and checks what tenants write."""
