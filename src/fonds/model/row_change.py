"""Conditional change of one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowChange:
    """Set columns of the row with this key to `values`; if `values` is None, remove the row.

    The change applies only while the row's columns equal `where`.
    """

    key: object
    values: Mapping[str, object] | None
    where: Mapping[str, object]
