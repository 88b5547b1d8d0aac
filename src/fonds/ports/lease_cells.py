"""Interface of the storage of leases: one cell per lease, with compare-and-set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fonds.model.lease import LeaseCell, LeaseChange


class LeaseCells(Protocol):
    """Interface of the storage of leases: one stored value (LeaseCell) for each lease name.

    The stored value is the holder of the lease and a version.
    """

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Return the stored values of leases by lease name.

        A name is left out if its lease would be stored in a row that does not exist.
        """

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write changes of leases, each only if the stored value of its lease still equals
        `change.before`.

        Returns the names of the leases that were written. If several processes change one lease
        from the same value, exactly one succeeds.
        """
