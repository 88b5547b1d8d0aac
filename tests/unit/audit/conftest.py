"""The library of the audit tests."""

from audit_bench import library, stores

__all__ = ["library", "stores"]
