"""What is served: plain functions over the rows."""
