"""What became of an entry as a tree, in whatever order its messages ended, whatever is missing of it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from filled_home import open_home
from fonds.model.rows import DispositionRow, InputRow
from fonds.viewer.history import (
    build_branches,
    find_entries,
    find_entry_histories,
    find_entry_history,
)
from home_rows import NOW, Body, build_disposition, entry

BODY = Body(1, "http://a.example/1", NOW, "text/html", b"page")


def row(name: str, step: str, parent: tuple[str, str] | None, second: int) -> DispositionRow:
    at = NOW + timedelta(seconds=second)
    parent_id, parent_step = parent or (None, None)
    base = build_disposition(BODY, step, 0)
    names = {"message_id": name, "parent_id": parent_id, "parent_step": parent_step}
    return replace(base, **names, promised_at=at, settled_at=at)


def test_children_stand_below_what_they_were_made_of_in_their_order() -> None:
    rows = [
        row("note-2", "keep", ("note-2", "write"), 9),
        row("link", "write", ("link", "fetch"), 2),
        row("note-2", "write", ("link", "fetch"), 3),
        row("link", "fetch", None, 1),
        row("note-1", "write", ("link", "fetch"), 2),
    ]
    assert [
        (branch.depth, branch.row.message_id, branch.row.step) for branch in build_branches(rows)
    ] == [
        (0, "link", "fetch"),
        (1, "link", "write"),
        (1, "note-1", "write"),
        (1, "note-2", "write"),
        (2, "note-2", "keep"),
    ]


NAMES = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.sampled_from(["x", "y"])


@given(
    st.lists(
        st.tuples(NAMES, STEPS, st.none() | st.tuples(NAMES, STEPS), st.integers(0, 3)),
        max_size=10,
        unique_by=lambda one: one[:2],
    )
)
def test_every_row_is_told_once_whatever_its_parents_say(
    facts: list[tuple[str, str, tuple[str, str] | None, int]],
) -> None:
    """Also rows that are each other's parents."""
    rows = [row(*fact) for fact in facts]
    branches = build_branches(rows)
    assert sorted((one.row.message_id, one.row.step) for one in branches) == sorted(
        (one.message_id, one.step) for one in rows
    )
    assert all(two.depth <= one.depth + 1 for one, two in itertools.pairwise(branches))


def test_an_entry_is_told_with_what_was_made_of_it(tmp_path: object) -> None:
    with open_home(tmp_path) as stores:  # type: ignore[arg-type]
        stores.ledger.enter([], [entry(BODY)], ["identify"])
        child = f"{BODY.capture_id}.notes.1"
        later = replace(
            build_disposition(BODY, "note", 1, "identify"),
            message_id=child,
            about="a note",
            parent_step="identify",
        )
        stores.ledger.write([build_disposition(BODY, "identify", 0), later])
        entry_history = find_entry_history(stores.records, BODY.capture_id)
        assert entry_history is not None
        assert [(branch.depth, branch.row.step) for branch in entry_history.branches] == [
            (0, "identify"),
            (1, "note"),
        ]
        assert (entry_history.total, [one.outcome for one in entry_history.entries]) == (
            2,
            ["done"],
        )
        assert find_entry_history(stores.records, "nothing") is None


def test_what_became_of_an_address_is_told_of_all_that_entered_with_it(tmp_path: object) -> None:
    with open_home(tmp_path) as stores:  # type: ignore[arg-type]
        url = "https://example.org/gone"
        rows = [
            replace(
                entry(BODY),
                entry_id=f"poll-{number:02}",
                url=url,
                entered_at=NOW + timedelta(minutes=number),
            )
            for number in range(25)
        ]
        stores.ledger.enter([], rows, ["identify"])
        entry_histories = find_entry_histories(stores.records, f" {url}#part ")
        assert (entry_histories.total, len(entry_histories.stories)) == (25, 20)
        assert [story.entry_id for story in entry_histories.stories][:2] == ["poll-24", "poll-23"]
        assert find_entry_histories(stores.records, "poll-03").total == 1
        assert find_entry_histories(stores.records, "https://example.org/").stories == []


def test_an_entry_found_by_its_address_and_by_its_input_counts_once(tmp_path: Path) -> None:
    """A page in a folder: its input is the path, and its address is the same path as a URL."""
    page = tmp_path / "page.html"
    with open_home(tmp_path / "home") as stores:
        rows = [
            replace(entry(BODY), entry_id=f"version-{number}", url=page.as_uri())
            for number in range(3)
        ]
        source = InputRow(
            rows[0].input_id,
            str(page),
            "file",
            "{}",
            3,
            3,
            {},
            0,
            True,
            None,
            NOW,
            rows[0].pipeline,
        )
        stores.ledger.enter([source], rows, ["identify"])
        found, total = find_entries(stores.records, str(page), 2)
    assert (len(found), total) == (2, 3)
