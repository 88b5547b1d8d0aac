"""Failures: groups of similar failures, and what people decide about them."""
