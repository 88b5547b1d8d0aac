"""Derivative kinds: what is computed from files, and what the index holds of it; one file a kind."""
