"""Checks of the results of fuzzed functions."""

from __future__ import annotations


class BrokenPromiseError(Exception):
    """A result that contradicts the docstring of the function."""


def require(is_true: bool, promise: str, value: object = None) -> None:
    """Raise BrokenPromiseError unless `is_true`. Unlike `assert`, it also works under -O."""
    if not is_true:
        raise BrokenPromiseError(f"{promise}: {value!r}"[:2_000])


def decode_any_text(data: bytes) -> str:
    """Decode bytes to any text that a caller could pass, including lone surrogates."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data[: len(data) & ~1].decode("utf-16-le", "surrogatepass")
