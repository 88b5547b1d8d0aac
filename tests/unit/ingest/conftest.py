"""Reading sources whole, as an intake does, and going on from any position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fonds.ingest.sources.paths import PathSource
from fonds.model.capture import Capture
from fonds.model.entry import Entry, build_capture_entry
from fonds.model.rows import InputRow

Read = Callable[..., tuple[list[Capture], Counter[str]]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home beside what is taken in."""
    path = tmp_path / "home"
    path.mkdir()
    return path


def source(home: Path, *paths: Path, warc_base: str = "") -> PathSource:
    return PathSource(list(paths), home, "test", warc_base)


def only_input(one: PathSource) -> InputRow:
    (row,) = one.iter_inputs()
    return row


def captures(one: PathSource, row: InputRow | None = None) -> tuple[list[Capture], Counter[str]]:
    """All captures of an input, each entered as itself, and its tally."""
    found: list[Capture] = []
    tally: Counter[str] = Counter()
    for thing in one.iter_entries(row or only_input(one)):
        if isinstance(thing, Entry):
            assert isinstance(thing.item, Capture)
            assert thing == build_capture_entry(thing.item)
            found.append(thing.item)
        elif isinstance(thing, Mapping):
            tally.update(thing)
    return found, tally


def resumed_everywhere(one: PathSource) -> None:
    """From every position given out, exactly what was not given before comes again."""
    row = only_input(one)
    things = list(one.iter_entries(row))
    for place, thing in enumerate(things):
        if isinstance(thing, int):
            rest = list(one.iter_entries(replace(row, position=thing)))
            assert rest == things[place:], f"going on from {thing}"
