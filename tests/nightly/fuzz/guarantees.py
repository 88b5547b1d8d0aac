"""What a fuzzed function's result is held against."""

from __future__ import annotations


class BrokenPromiseError(Exception):
    """A result that is not what the function's docstring says."""


def holds(truth: bool, promise: str, found: object = None) -> None:
    """Raise BrokenPromiseError unless `truth`; `assert` would be gone under -O."""
    if not truth:
        raise BrokenPromiseError(f"{promise}: {found!r}"[:2_000])


def as_text(data: bytes) -> str:
    """Any text a caller could hand over, lone surrogates too."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data[: len(data) & ~1].decode("utf-16-le", "surrogatepass")
