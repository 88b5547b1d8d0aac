"""The row of what one process alone may do at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """`claim`: something one process alone may do at a time, and who does it now, None for nobody.

    A claim ends when `beats`, which every change of its holder counts up, was seen to stand still.
    """

    TABLE: ClassVar[str] = "claim"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    claimed_by: str | None
    beats: int
