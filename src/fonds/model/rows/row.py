"""Interfaces of rows in the records store, and conditions on values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol


class Row(Protocol):
    """Row of the records store; the attribute order is the column order.

    A row may also have `COUNTED_BY`, the columns by which its table is tallied, and
    `WITHOUT_FIXITY`: its writer records the fixity of all its columns except these
    (`derivatives/fixity.py`).
    """

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]


class DerivativeRow(Protocol):
    """Row computed from one file, identified by its SHA-1: status, time and extractor."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]

    @property
    def sha1hex(self) -> str:
        """SHA-1 of the file in hex; primary key of the row."""

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
    """Condition: texts that begin with `text`, case-sensitive; "" matches all."""

    text: str


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Condition: times from `first` to `last`, both included."""

    first: datetime
    last: datetime
