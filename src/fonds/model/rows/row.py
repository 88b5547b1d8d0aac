"""What every row of the records store is."""

from __future__ import annotations

from typing import ClassVar, Protocol


class Row(Protocol):
    """Anything the records store can keep: the attribute order is the column order."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
