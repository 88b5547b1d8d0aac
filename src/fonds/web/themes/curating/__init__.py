"""What curators do with themes: names, pins, documents that do not belong in them."""
