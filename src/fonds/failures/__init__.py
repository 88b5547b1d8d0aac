"""What failed: counted by what failures have in common, and what people decide about them."""
