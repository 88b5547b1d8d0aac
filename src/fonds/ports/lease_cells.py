"""Port for the cells that store leases, with compare-and-set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fonds.model.lease import LeaseCell, LeaseChange


class LeaseCells(Protocol):
    """Storage with one lease cell per name."""

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Return the cells of these names. A name that cannot have a lease is absent."""

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write each change whose cell still equals `before`, and return the names written.

        Of several processes that change one cell from the same `before`, one succeeds.
        """
