"""Helpers that read sources completely, as an intake does, and resume from any position."""

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
    """A home next to the ingested files."""
    path = tmp_path / "home"
    path.mkdir()
    return path


def create_source(home: Path, *paths: Path, warc_base: str = "") -> PathSource:
    return PathSource(list(paths), home, "test", warc_base)


def get_only_input(path_source: PathSource) -> InputRow:
    (row,) = path_source.iter_inputs()
    return row


def read_captures(
    path_source: PathSource, row: InputRow | None = None
) -> tuple[list[Capture], Counter[str]]:
    """Return all captures of an input and its tally. Each entry must be the entry of its capture."""
    items: list[Capture] = []
    tally: Counter[str] = Counter()
    for thing in path_source.iter_entries(row or get_only_input(path_source)):
        if isinstance(thing, Entry):
            assert isinstance(thing.item, Capture)
            assert thing == build_capture_entry(thing.item)
            items.append(thing.item)
        elif isinstance(thing, Mapping):
            tally.update(thing)
    return items, tally


def check_resuming(path_source: PathSource) -> None:
    """Check that reading from any yielded position returns exactly the remaining entries."""
    row = get_only_input(path_source)
    things = list(path_source.iter_entries(row))
    for index, item in enumerate(things):
        if isinstance(item, int):
            remaining = list(path_source.iter_entries(replace(row, position=item)))
            assert remaining == things[index:], f"resumed from {item}"
