"""How alike two texts are, by what is kept of each."""
