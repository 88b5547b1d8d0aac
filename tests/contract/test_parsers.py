"""The fuzzing targets accept their seeds, and variations of them by Hypothesis."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples

TARGETS = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "nightly/fuzz/targets").glob("*.py")
    if path.stem != "__init__"
)


@cache
def _seeds(name: str) -> tuple[bytes, ...]:
    return tuple(import_module(f"nightly.fuzz.targets.{name}").seeds())


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_accepts_its_seeds(name: str) -> None:
    target = import_module(f"nightly.fuzz.targets.{name}")
    seeds = _seeds(name)
    assert len(seeds) >= 8
    for seed in seeds:
        target.check(seed)


@pytest.mark.parametrize("name", TARGETS)
@given(st.binary(max_size=200), st.integers(0, 1000), st.integers(0, 1000))
@settings(max_examples=examples(20))
def test_a_target_accepts_modified_seeds(
    name: str, filling: bytes, seed_number: int, position: int
) -> None:
    target = import_module(f"nightly.fuzz.targets.{name}")
    seeds = _seeds(name)
    seed = seeds[seed_number % len(seeds)]
    at = position * len(seed) // 1000
    target.check(seed[:at] + filling + seed[at + len(filling) :])
