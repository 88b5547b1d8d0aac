"""Tables derived from the fields of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa

from fonds.stores.records.column_types import (
    BigNumber,
    CleanText,
    Flag,
    RealNumber,
    StoredJson,
    UtcTime,
)
from fonds.stores.records.tables import derive


@dataclass(frozen=True, slots=True)
class EveryTypeRow:
    """A field of each type."""

    TABLE: ClassVar[str] = "everything"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "number")
    sha1hex: str
    number: int
    share: float | None
    is_new: bool
    at: datetime
    details: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ListRow:
    TABLE: ClassVar[str] = "odd"
    KEY: ClassVar[tuple[str, ...]] = ("names",)
    names: list[str]


@dataclass(frozen=True, slots=True)
class UnionRow:
    TABLE: ClassVar[str] = "torn"
    KEY: ClassVar[tuple[str, ...]] = ("value",)
    value: str | int


def test_a_table_has_the_columns_of_its_row() -> None:
    table = derive(EveryTypeRow, sa.MetaData())
    assert table.name == "everything"
    types = {column.name: type(column.type) for column in table.c}
    assert types == {
        "sha1hex": CleanText,
        "number": BigNumber,
        "share": RealNumber,
        "is_new": Flag,
        "at": UtcTime,
        "details": StoredJson,
    }
    assert [column.name for column in table.c if column.nullable] == ["share", "details"]
    assert [column.name for column in table.primary_key] == ["sha1hex", "number"]
    (check,) = table.c.sha1hex.constraints
    assert str(check.sqltext) == "length(sha1hex) = 40"  # type: ignore[attr-defined]


@pytest.mark.parametrize("row", [ListRow, UnionRow])
def test_a_field_without_a_column_type_is_refused(row: type[Any]) -> None:
    with pytest.raises(TypeError, match="there is no column for"):
        derive(row, sa.MetaData())
