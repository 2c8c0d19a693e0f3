"""What the cloud has, allows and answers."""
