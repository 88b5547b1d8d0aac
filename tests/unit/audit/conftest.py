"""The library the audit is tried on."""

from audit_bench import library, stores

__all__ = ["library", "stores"]
