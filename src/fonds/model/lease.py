"""Stored values of a lease."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LeaseCell:
    """Holder of a lease, None if it is free, and a version.

    Every write changes the version. The cell of a name never returns to an earlier pair of both.
    """

    holder: str | None
    version: int


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """Compare-and-set of one cell from `before` to `after`.

    `columns` are written in the same step. `where` names further columns that must have these
    values.
    """

    name: str
    before: LeaseCell
    after: LeaseCell
    columns: Mapping[str, object] = field(default_factory=dict)
    where: Mapping[str, object] = field(default_factory=dict)
