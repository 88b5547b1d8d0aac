"""Captures found by address and time and given out again: CDX queries, Memento, bodies behind revisits."""
