"""The bound of whole numbers in JSON."""

from __future__ import annotations

EXACT_MAX = 2**53 - 1
"""The greatest whole number that every reader of JSON reads as it was written (RFC 8259, section 6)."""
