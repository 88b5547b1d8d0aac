"""Fixture with the stores of a small library."""

from audit_bench import stores

__all__ = ["stores"]
