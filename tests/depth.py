"""How many cases of each test matrix run: some on every push, all in `make nightly`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

IS_NIGHTLY = os.environ.get("TEST_NIGHTLY") == "1"

T = TypeVar("T")


def kills(on_push: int, nightly: int) -> int:
    """Number of kills in a test that kills at random moments."""
    return nightly if IS_NIGHTLY else on_push


def examples(on_push: int) -> int:
    """Number of examples of a Hypothesis test: ten times as many in `make nightly`."""
    return on_push * 10 if IS_NIGHTLY else on_push


def partly_nightly(cases: Iterable[T], on_push: Callable[[T], bool]) -> list[Any]:
    """Parameters of a test; the cases that `on_push` rejects run in `make nightly` only."""
    return [
        pytest.param(case, marks=() if on_push(case) else pytest.mark.nightly) for case in cases
    ]
