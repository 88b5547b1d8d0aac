"""Tables made of a row's fields alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa

from fonds.stores.records.column_types import CleanText, StoredJson, UtcTime
from fonds.stores.records.tables import derive


@dataclass(frozen=True, slots=True)
class AllRow:
    """One of each type."""

    TABLE: ClassVar[str] = "everything"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "number")
    sha1hex: str
    number: int
    share: float | None
    is_so: bool
    at: datetime
    said: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class OddRow:
    TABLE: ClassVar[str] = "odd"
    KEY: ClassVar[tuple[str, ...]] = ("names",)
    names: list[str]


@dataclass(frozen=True, slots=True)
class TornRow:
    TABLE: ClassVar[str] = "torn"
    KEY: ClassVar[tuple[str, ...]] = ("value",)
    value: str | int


def test_a_table_has_the_columns_of_its_row() -> None:
    table = derive(AllRow, sa.MetaData())
    assert table.name == "everything"
    types = {column.name: type(column.type) for column in table.c}
    assert types == {
        "sha1hex": CleanText,
        "number": sa.BigInteger,
        "share": sa.REAL,
        "is_so": sa.Boolean,
        "at": UtcTime,
        "said": StoredJson,
    }
    assert [column.name for column in table.c if column.nullable] == ["share", "said"]
    assert [column.name for column in table.primary_key] == ["sha1hex", "number"]
    (check,) = table.c.sha1hex.constraints
    assert str(check.sqltext) == "length(sha1hex) = 40"  # type: ignore[attr-defined]


@pytest.mark.parametrize("row", [OddRow, TornRow])
def test_a_field_no_column_can_hold_is_refused(row: type[Any]) -> None:
    with pytest.raises(TypeError, match="there is no column for"):
        derive(row, sa.MetaData())
