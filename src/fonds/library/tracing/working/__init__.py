"""Pipelines at work: what waits for each step, how fast it goes, and who does it."""
