"""Interfaces of the rows of the SQL store, and conditions on column values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol


class Row(Protocol):
    """Interface of a row of the SQL store; the attribute order is the column order.

    `TABLE` names the table, `KEY` the columns of its primary key. A row type may also have
    `COUNTED_BY`, the columns by which the rows of its table are counted. It may also have
    `WITHOUT_FIXITY`: its writer records the fixity (size and SHA-256) of all its columns except
        these (`derivatives/fixity.py`).
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
        """How the computation of the row ended, as one of the statuses of its derivative kind."""

    @property
    def extractor(self) -> str:
        """Version of the extractor: the program, versions and limits that computed the row."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Condition on a text column: texts that begin with `text`, case-sensitive; "" matches all."""

    text: str


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Condition on a time column: times from `first` to `last`, both included."""

    first: datetime
    last: datetime
