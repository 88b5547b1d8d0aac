"""Interfaces of the rows in the SQL store, and conditions on column values for queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Protocol


class Row(Protocol):
    """Row of a table in the SQL store. The attribute order is the column order.

    - `TABLE`: name of the table.
    - `KEY`: columns of the primary key.

    A row type may also have `COUNTED_BY`, the columns by which its table is tallied. It may have
    `WITHOUT_FIXITY`: the columns that are left out when the size and hash of the row are recorded
    (`derivatives/fixity.py`). It has `SEALED` if no other store confirms its rows, so that a change
    by another program must be noticed in another way (`stores/records/seals.py`).
    """

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]


class DerivativeRow(Protocol):
    """Interface of a row with data computed from one file, which its SHA-1 identifies."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]

    @property
    def sha1hex(self) -> str:
        """SHA-1 in hex of the file from which the row was computed; primary key of the row."""

    @property
    def updated(self) -> datetime:
        """Time at which the row was last written."""

    @property
    def status(self) -> str:
        """Status of the computation that produced the row, such as success or an error.

        The possible values depend on the type of the computed data, such as PDF text or GROBID
        result.
        """

    @property
    def extractor(self) -> str:
        """Version of the extractor: the program, versions and limits that computed the row."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Query condition: the column's text begins with `text`, case-sensitive; "" matches all
    texts.
    """

    text: str


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Query condition: the column's time is between `first` and `last`, both included."""

    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class InTable:
    """Query condition: a row of a table has the column's value (a semi-join).

    - `kind`: row type of that table. If it is the queried table, only other rows count.
    - `column`: column of that table that must have the value.
    - `equal`: further columns of that table, and the columns of the queried table that they must
      equal.
    - `where`: values that the columns of that table must have, as in a query.
    """

    kind: type[Row]
    column: str
    equal: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotInTable:
    """Query condition: the column has a value, but no row of a table has it (an anti-join).

    The fields are those of `InTable`.
    """

    kind: type[Row]
    column: str
    equal: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, object] = field(default_factory=dict)


TableCondition = InTable | NotInTable
QueryCondition = Prefix | TimeRange | TableCondition
"""Conditions on a column other than equality."""
