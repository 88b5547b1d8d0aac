"""Audit of the stores: one module per subject. Each fault has a remedy."""
