"""The clusters of a collection, as programs ask for them."""
