"""Term counts to vectors: weights, term vectors out of the collection itself, and the space documents lie
in."""
