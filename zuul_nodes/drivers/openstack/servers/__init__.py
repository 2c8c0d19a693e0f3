"""Create, list and delete servers and the resources that belong to them."""
