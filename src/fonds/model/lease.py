"""Types of the values that a lease stores in its row, such as its holder.

A lease is a time-limited, exclusive right to work on a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LeaseCell:
    """Stored value of one lease.

    - `holder`: name of the process that has the lease; None if the lease is free.
    - `version`: number that changes with every write. A lease never has the same pair of holder and
      version twice.
    """

    holder: str | None
    version: int


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """Compare-and-set of the stored value of one lease from `before` to `after`.

    - `name`: name of the lease.
    - `columns`: further columns of the lease's row, with values to write in the same step.
    - `where`: further columns of the row, and the values that they must have for the change to be
      written.
    """

    name: str
    before: LeaseCell
    after: LeaseCell
    columns: Mapping[str, object] = field(default_factory=dict)
    where: Mapping[str, object] = field(default_factory=dict)
