"""A pipeline whose clock jumps by an hour between turns still accounts for every message."""

from __future__ import annotations

import random

import pytest

from fonds.model.errors import TransientError
from fonds.model.step import Result
from small_pipeline import Number, Workplace, double

HOUR_S = 3_600.0
ROUNDS_MAX = 400


@pytest.mark.parametrize("seed", range(5))
def test_clock_jumps_lose_and_repeat_no_message(place: Workplace, seed: int) -> None:
    """The queue uses the jumping clock, like a process started after each jump. Leases expire early and
    delays get longer, and a message processed twice is counted once."""
    chance = random.Random(seed)
    ids = place.enter(*range(30))
    failed: set[int] = set()

    def fail_once(item: Number) -> Result:
        if item.value % 3 == 0 and item.value not in failed:
            failed.add(item.value)
            raise TransientError("later")
        return double(item)

    loops = [place.loop(fail_once) for _ in range(2)]
    for _ in range(ROUNDS_MAX):
        place.clock.pass_s(chance.choice((HOUR_S, -HOUR_S, 1.0, 7.0)))
        chance.choice(loops).run_once(0.0)
        if place.get_depth().pending == 0:
            break
    # The clock runs normally at the end.
    for _ in range(10):
        place.clock.pass_s(2 * HOUR_S)
        loops[0].run_once(0.0)
    assert place.get_depth().pending == 0
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.ledger.recount() == []
