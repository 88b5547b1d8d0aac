"""Progress without a terminal: a line at intervals, in the words of the summary."""

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
    """A clock that moves only when it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def read_lines(stores: Stores, *, terminal: bool, is_visible: bool = True) -> list[str]:
    """Return the lines that are written in a little over two intervals."""
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=200)
    entered, seconds = IntakeCounts(), Seconds()
    entered.input_ids |= {row.input_id for row in stores.records.find(InputRow)}
    with ProgressBar(
        stores.records, entered, "library", is_visible=is_visible, screen=screen, seconds=seconds
    ) as bar:
        for _ in range(22):
            seconds.now += PLAIN_EVERY_S / 10
            bar.tick()
    output = screen.file
    assert isinstance(output, io.StringIO)
    return output.getvalue().splitlines()


def test_without_a_terminal_a_line_is_written_at_intervals(
    home: Path, filled_home: FilledHome
) -> None:
    with open_home(home) as stores:
        lines = read_lines(stores, terminal=False)
        counted = count_entries(
            stores.records, [row.input_id for row in stores.records.find(InputRow)], "library"
        )
    assert len(lines) == 2
    assert counted.received > 0
    finished = counted.received - counted.pending
    assert lines[0].startswith(
        f"{finished:,} of {counted.received:,} so far: {counted.done:,} stored · "
    )
    assert all(word in lines[0] for word in ("skipped", "rejected", "failed"))


@pytest.mark.parametrize(("terminal", "is_visible"), [(False, False), (True, True)])
def test_quiet_prints_nothing_and_a_terminal_keeps_no_line(
    home: Path, filled_home: FilledHome, terminal: bool, is_visible: bool
) -> None:
    with open_home(home) as stores:
        assert not any(
            "so far" in line
            for line in read_lines(stores, terminal=terminal, is_visible=is_visible)
        )
