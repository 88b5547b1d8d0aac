"""Politeness as pure values: what is asked of whom, when, and what an answer means; time is given."""
