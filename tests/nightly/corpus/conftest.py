"""The environment of the other programs, as for the tests of `peers`."""

from __future__ import annotations

from peers.conftest import python

__all__ = ["python"]
