"""Progress where nobody watches a terminal: a line now and then, in the summary's words."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from filled_home import FilledHome, open_home
from fonds.cli.progress import PLAIN_EVERY_S, ProgressBar
from fonds.failures.accounting.tallies import count_entries
from fonds.model.rows import InputRow
from fonds.pipelines.runtime.intake import IntakeCounts
from fonds.ports import Stores


class Seconds:
    """A clock that stands still unless it is told to go on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def lines_of(stores: Stores, *, terminal: bool, shown: bool = True) -> list[str]:
    """What is written within a little over twice the time between two lines."""
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=200)
    entered, seconds = IntakeCounts(), Seconds()
    entered.input_ids |= {row.input_id for row in stores.records.find(InputRow)}
    with ProgressBar(
        stores.records, entered, "library", is_visible=shown, screen=screen, seconds=seconds
    ) as one:
        for _ in range(22):
            seconds.now += PLAIN_EVERY_S / 10
            one.tick()
    found = screen.file
    assert isinstance(found, io.StringIO)
    return found.getvalue().splitlines()


def test_without_a_terminal_a_line_comes_now_and_then(home: Path, filled: FilledHome) -> None:
    with open_home(home) as stores:
        lines = lines_of(stores, terminal=False)
        counted = count_entries(
            stores.records, [row.input_id for row in stores.records.find(InputRow)], "library"
        )
    assert len(lines) == 2
    assert counted.received > 0
    ended = counted.received - counted.pending
    assert lines[0].startswith(
        f"{ended:,} of {counted.received:,} so far: {counted.done:,} stored · "
    )
    assert all(word in lines[0] for word in ("skipped", "rejected", "failed"))


@pytest.mark.parametrize(("terminal", "shown"), [(False, False), (True, True)])
def test_none_where_quiet_was_asked_for_and_on_a_terminal_one_line_that_goes_away(
    home: Path, filled: FilledHome, terminal: bool, shown: bool
) -> None:
    with open_home(home) as stores:
        assert not any(
            "so far" in line for line in lines_of(stores, terminal=terminal, shown=shown)
        )
