"""Fixtures of several rooms."""

from small_pipeline import migrated, place

__all__ = ["migrated", "place"]
