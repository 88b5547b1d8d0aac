"""A body that lies in a file open for reading."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenBody:
    """A body in a file open for reading, as an isolated process is handed it: no path, no way to write.

    `descriptor` is this process's number for it; where it was handed to, that process's own.
    """

    descriptor: int
    size_bytes: int
