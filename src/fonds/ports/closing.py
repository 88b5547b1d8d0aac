"""Backends closed: no port asks for it, since not every backend holds something open."""

from __future__ import annotations


def close(*backends: object) -> None:
    """Close those that can be closed, in this order."""
    for backend in backends:
        closing = getattr(backend, "close", None)
        if closing is not None:
            closing()
