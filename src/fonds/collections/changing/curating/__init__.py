"""What people decide about themes: names, pins, documents that do not belong in them."""
