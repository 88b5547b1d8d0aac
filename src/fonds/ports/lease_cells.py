"""Interface of the storage of leases: one cell per lease, with compare-and-set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fonds.model.lease import LeaseCell, LeaseChange


class LeaseCells(Protocol):
    """Interface of the storage of leases, with one cell for each lease name."""

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Return the lease cells with these names, by name. A name that cannot have a lease is left
        out.
        """

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write each lease cell that still equals `before` of its change; return the names written.

        If several processes change one cell from the same `before`, exactly one succeeds.
        """
