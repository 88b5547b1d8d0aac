"""What is stored of a lease."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LeaseCell:
    """The holder of a lease, None for nobody, and a version.

    Every write changes the version. No cell of one name ever returns to an earlier pair of both.
    """

    holder: str | None
    version: int


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """A compare-and-set of one cell from `before` to `after`.

    `columns` are written in the same step. `where` names columns that must have these values too.
    """

    name: str
    before: LeaseCell
    after: LeaseCell
    columns: Mapping[str, object] = field(default_factory=dict)
    where: Mapping[str, object] = field(default_factory=dict)
