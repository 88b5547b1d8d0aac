"""The history of an entry as a tree, for any order of its messages and with missing rows."""

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


def build_row(name: str, step: str, parent: tuple[str, str] | None, second: int) -> DispositionRow:
    at = NOW + timedelta(seconds=second)
    parent_id, parent_step = parent or (None, None)
    base = build_disposition(BODY, step, 0)
    names = {"message_id": name, "parent_id": parent_id, "parent_step": parent_step}
    return replace(base, **names, promised_at=at, settled_at=at)


def test_children_are_below_their_parents_in_order() -> None:
    rows = [
        build_row("note-2", "keep", ("note-2", "write"), 9),
        build_row("link", "write", ("link", "fetch"), 2),
        build_row("note-2", "write", ("link", "fetch"), 3),
        build_row("link", "fetch", None, 1),
        build_row("note-1", "write", ("link", "fetch"), 2),
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
        unique_by=lambda fact: fact[:2],
    )
)
def test_every_row_appears_once_for_any_parents(
    facts: list[tuple[str, str, tuple[str, str] | None, int]],
) -> None:
    """The rows may be parents of each other."""
    rows = [build_row(*fact) for fact in facts]
    branches = build_branches(rows)
    assert sorted((branch.row.message_id, branch.row.step) for branch in branches) == sorted(
        (fact_row.message_id, fact_row.step) for fact_row in rows
    )
    assert all(after.depth <= before.depth + 1 for before, after in itertools.pairwise(branches))


def test_an_entry_has_the_history_of_its_messages(tmp_path: object) -> None:
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
        assert (
            entry_history.total,
            [entry_row.outcome for entry_row in entry_history.entries],
        ) == (
            2,
            ["done"],
        )
        assert find_entry_history(stores.records, "nothing") is None


def test_the_histories_of_a_url_cover_all_its_entries(tmp_path: object) -> None:
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
        assert (entry_histories.total, len(entry_histories.newest)) == (25, 20)
        assert [story.entry_id for story in entry_histories.newest][:2] == ["poll-24", "poll-23"]
        assert find_entry_histories(stores.records, "poll-03").total == 1
        assert find_entry_histories(stores.records, "https://example.org/").newest == []


def test_an_entry_found_by_url_and_input_counts_once(tmp_path: Path) -> None:
    """The input of a page in a folder is a path, and its URL is the same path."""
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
        entries, total = find_entries(stores.records, str(page), 2)
    assert (len(entries), total) == (2, 3)
