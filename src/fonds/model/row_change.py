"""Conditional change of one SQL row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowChange:
    """Conditional change of one SQL row: set some of its columns, or delete the row.

    - `key`: primary key of the row.
    - `values`: new values by column; None deletes the row.
    - `where`: values by column that the row must have now. If a value differs, nothing changes.
    """

    key: object
    values: Mapping[str, object] | None
    where: Mapping[str, object]
