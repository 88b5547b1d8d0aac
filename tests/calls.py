"""What a call of the command line within this process came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """What a call came to."""

    code: int
    out: str
    err: str


Call = Callable[..., Told]
