"""What every row of the records store is, what each about a derivative says, and conditions on values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol


class Row(Protocol):
    """Anything the records store can keep: the attribute order is the column order.

    A row may also have `COUNTED_BY`, the columns a tally of its table is kept by, and `WITHOUT_FIXITY`:
    whoever writes it notes the fixity of all its columns but these (`derivatives/fixity.py`).
    """

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]


class DerivativeRow(Protocol):
    """What was computed from one file, known by its SHA-1: how it ended, when, and by which extractor."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]

    @property
    def sha1hex(self) -> str:
        """The file it is about; the primary key."""

    @property
    def updated(self) -> datetime:
        """When the row was written last."""

    @property
    def status(self) -> str:
        """How it ended, one of the kind's statuses."""

    @property
    def extractor(self) -> str:
        """Program, versions and limits that made it."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Stands where a value would: texts that begin with `text`, letter case counting; all for ""."""

    text: str


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Stands where a value would: times from `first` to `last`, both of them included."""

    first: datetime
    last: datetime
