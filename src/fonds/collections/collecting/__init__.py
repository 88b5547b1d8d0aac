"""What is taken in arrives in the collections whose rules it fits."""
