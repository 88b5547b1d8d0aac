"""The comparison with an earlier commit: noise is measured again, and a lasting excess is reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import bench_against
from bench_against import MORE_ROUNDS, Checkout, Inputs

CHECKOUTS = [Checkout("before", Path("before")), Checkout("now", Path("now"))]
INPUTS = Inputs(Path(), Path(), Path(), Path())


def compare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before_s: list[float], now_s: list[float]
) -> tuple[bench_against.Comparison, int]:
    """Compare two checkouts whose runs cost these CPU seconds; also return the number of rounds."""
    costs: dict[str, Iterator[float]] = {"before": iter(before_s), "now": iter(now_s)}
    names = []

    def run_task(checkout: Checkout, inputs: Inputs, home: Path) -> float:
        names.append(checkout.name)
        return next(costs[checkout.name])

    monkeypatch.setitem(bench_against.TASKS, "task", (1, run_task))  # type: ignore[arg-type]
    comparison = bench_against.compare("task", CHECKOUTS, INPUTS, 1, tmp_path)
    return comparison, names.count("now")


def test_a_single_slow_run_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    comparison, rounds = compare(monkeypatch, tmp_path, [1.0, 1.0], [1.5, 1.05])
    assert (comparison.is_worse, rounds) == (False, 2)


def test_a_lasting_excess_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = 1 + MORE_ROUNDS
    comparison, rounds = compare(monkeypatch, tmp_path, [1.0] * runs, [1.2] * runs)
    assert (comparison.is_worse, rounds) == (True, runs)
    assert comparison.ratio == pytest.approx(1.2)


def test_a_difference_below_the_noise_of_the_clock_is_not_an_excess(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    comparison, rounds = compare(monkeypatch, tmp_path, [0.1], [0.14])
    assert (comparison.is_worse, rounds) == (False, 1)
