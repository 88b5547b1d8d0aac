"""Pages of what failed, and of what people decide about it."""
