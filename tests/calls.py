"""Results of command-line calls in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CallResult:
    """Exit code and output of a command-line call."""

    code: int
    out: str
    err: str


Call = Callable[..., CallResult]
