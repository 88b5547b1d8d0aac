"""A file under embargo is in no index, collection or row that readers are shown, and comes back as it was."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from filled_home import FilledHome, fill_home, open_home
from fonds.audit.audit import run_audit
from fonds.audit.fault import AuditFault
from fonds.audit.repair.reindex import reindex
from fonds.derivatives.documents import index_until_stable
from fonds.derivatives.pdf import find_rows
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import DOCUMENTS, Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.document import IndexDocument
from fonds.model.keys import build_embargoed_blob_key
from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.model.search import SearchQuery
from fonds.ports import Stores
from fonds.restrictions.embargo import EmbargoService, iter_active_embargoes
from fonds.restrictions.traces import find_traces
from home_rows import NOW
from takedowns import create_takedown_service

NAME = CollectionName("told", "kept")
UNTIL = NOW + timedelta(days=30)
STORES = ("records", "blobs", "index", "table")


class _Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, FilledHome]]:
    filled = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores, filled


def _changes(stores: Stores) -> CollectionWriter:
    tables = Tables(stores.table)
    tables.declare()
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    return CollectionWriter(tables, leases, lambda: 1)


def _wanted(sha1hex: str) -> EmbargoRow:
    return EmbargoRow(sha1hex, "publication", "asked for", UNTIL, "ann", NOW)


def _document(stores: Stores, id_: str) -> IndexDocument:
    return stores.index.get([id_])[id_]


@pytest.mark.parametrize("which", ["pdfs", "stories"])
def test_hidden_it_is_out_of_index_and_collections_and_lifted_back_as_it_was(
    home: tuple[Stores, FilledHome], which: str
) -> None:
    stores, filled = home
    sha1hex = getattr(filled, which)[1]
    changes = _changes(stores)
    (id_,) = find_traces(stores, None, sha1hex).documents
    kept = Document(id_, "flood " * 20, "A title", "http://x.example/", "en", 7)
    changes.put(NAME, [kept, Document("other", "bridge " * 20)])
    before, row = (
        _document(stores, id_),
        changes.tables.get_row(DOCUMENTS, NAME.build_document_row(id_)),
    )
    act = EmbargoService(stores, changes, lambda: NOW)
    act.hide(_wanted(sha1hex))
    assert stores.index.get([id_]) == {}
    assert changes.tables.get_row(DOCUMENTS, NAME.build_document_row(id_)) is None
    assert changes.tables.get_row(DOCUMENTS, NAME.build_document_row("other")) is not None
    assert act.lift(sha1hex)
    after = _document(stores, id_)
    assert (after.sha1hex, after.url, after.text_content) == (
        before.sha1hex,
        before.url,
        before.text_content,
    )
    again = changes.tables.get_row(DOCUMENTS, NAME.build_document_row(id_)) or {}
    assert (row or {}).keys() <= again.keys()
    assert again["main:text"] == kept.text.encode()
    assert stores.blobs.get(build_embargoed_blob_key(sha1hex)) is None
    assert not act.lift(sha1hex)


def test_hidden_again_while_it_is_lifted_it_stays_hidden_until_its_new_date(
    home: tuple[Stores, FilledHome],
) -> None:
    """The lift that was overtaken does not end the new embargo, which nothing would lift later."""
    stores, filled = home
    sha1hex, calls = filled.pdfs[1], 0
    hide = EmbargoService(stores, None, lambda: NOW).hide

    def clock() -> datetime:
        nonlocal calls
        calls += 1
        if calls == 2:  # just before the lift says that it is done
            hide(_wanted(sha1hex))
        return NOW

    (id_,) = find_traces(stores, None, sha1hex).documents
    hide(_wanted(sha1hex))
    assert EmbargoService(stores, None, clock).lift(sha1hex)
    assert stores.index.get([id_]) == {}
    assert [row.sha1hex for row in iter_active_embargoes(stores)] == [sha1hex]
    assert EmbargoService(stores, None, lambda: UNTIL).lift_due() == 1
    assert id_ in stores.index.get([id_])


def test_it_is_lifted_when_its_date_has_come_and_not_before(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    clock = _Clock(NOW)
    act = EmbargoService(stores, None, clock)
    act.hide(_wanted(filled.pdfs[1]))
    act.hide(replace(_wanted(filled.pdfs[2]), until=UNTIL + timedelta(days=1)))
    clock.now = UNTIL - timedelta(seconds=1)
    assert act.lift_due() == 0
    clock.now = UNTIL
    assert act.lift_due() == 1
    assert [row.sha1hex for row in iter_active_embargoes(stores)] == [filled.pdfs[2]]
    assert set(stores.index.get(filled.pdfs[1:3])) == {filled.pdfs[1]}


def test_whoever_writes_meanwhile_does_not_bring_it_back(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    document = _document(stores, sha1hex)
    total = stores.index.count()
    EmbargoService(stores, None, lambda: NOW).hide(_wanted(sha1hex))
    stores.index.put([document])
    assert stores.index.get([sha1hex]) == {}
    index_until_stable(
        stores.records,
        stores.index,
        (),
        lambda: find_rows(stores.records, [sha1hex]),
        lambda rows: [document],
    )
    reindex(stores.records, stores.blobs, stores.index, lambda _: None)
    assert stores.index.get([sha1hex]) == {}
    assert stores.index.count() == total - 1


def test_a_write_that_began_before_the_embargo_is_undone_by_whoever_wrote(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    document = _document(stores, sha1hex)

    class _Slow:
        """An index that is written to while somebody hides the file."""

        def __getattr__(self, name: str) -> Any:
            return getattr(stores.index.index, name)  # type: ignore[attr-defined]

        def put(self, documents: Any) -> None:
            EmbargoService(stores, None, lambda: NOW).hide(_wanted(sha1hex))
            stores.index.index.put(documents)  # type: ignore[attr-defined]

    replace(stores.index, index=_Slow()).put([document])  # type: ignore[type-var]
    assert stores.index.get([sha1hex]) == {}


@pytest.mark.parametrize("is_hidden_meanwhile", [False, True])
def test_whoever_writes_a_story_does_not_bring_a_hidden_earlier_version_back(
    home: tuple[Stores, FilledHome], is_hidden_meanwhile: bool
) -> None:
    stores, filled = home
    reindex(stores.records, stores.blobs, stores.index, lambda _: None)
    shown, other = filled.stories[31:33]
    (id_,) = find_traces(stores, None, shown).documents
    document, query = _document(stores, id_), SearchQuery("version:all title:32")
    assert [one.sha1hex for one in document.earlier] == [other]
    assert stores.index.search(query).total == 1
    act = EmbargoService(stores, None, lambda: NOW)

    class _Slow:
        """An index that is written to while somebody hides the earlier version."""

        def __getattr__(self, name: str) -> Any:
            return getattr(stores.index.index, name)  # type: ignore[attr-defined]

        def put(self, documents: Any) -> None:
            if not act_is_done:
                act.hide(_wanted(other))
                act_is_done.append(True)
            stores.index.index.put(documents)  # type: ignore[attr-defined]

    act_is_done: list[bool] = []
    if is_hidden_meanwhile:
        replace(stores.index, index=_Slow()).put([document])  # type: ignore[type-var]
    else:
        act.hide(_wanted(other))
        stores.index.put([document])
    assert _document(stores, id_).earlier == ()
    assert stores.index.search(query).total == 0
    assert act.lift(other)
    assert stores.index.search(query).total == 1


def test_of_a_story_another_version_is_shown_meanwhile(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    shown, other = filled.stories[31:33]
    (id_,) = find_traces(stores, None, shown).documents
    act = EmbargoService(stores, None, lambda: NOW)
    act.hide(_wanted(shown))
    assert _document(stores, id_).sha1hex == other
    act.hide(_wanted(other))
    assert stores.index.get([id_]) == {}
    act.lift(other)
    act.lift(shown)
    assert _document(stores, id_).sha1hex == shown


def test_the_audit_asks_for_no_document_and_finds_one_that_should_not_be(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    document = _document(stores, sha1hex)
    before: list[AuditFault] = []
    run_audit(stores, {}, before.append)
    EmbargoService(stores, None, lambda: NOW).hide(_wanted(sha1hex))
    hidden: list[AuditFault] = []
    run_audit(stores, {}, hidden.append)
    assert {one.message for one in hidden} - {one.message for one in before} == set()
    stores.index.index.put([document])  # type: ignore[attr-defined]
    leaked: list[AuditFault] = []
    run_audit(stores, {}, leaked.append)
    (told,) = {one.message for one in leaked} - {one.message for one in before}
    assert told == f"PDF {sha1hex} is in the index but should not be"


class _KilledError(Exception):
    """What happens to the process."""


class _Dying:
    """A store that lets so many acts of all stores happen, and no more."""

    def __init__(self, store: Any, left: list[int]) -> None:
        self._store, self._left = store, left

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("put", "delete", "change", "change_each"):
            return found

        def act(*args: Any, **more: Any) -> Any:
            if self._left[0] == 0:
                raise _KilledError
            self._left[0] -= 1
            return found(*args, **more)

        return act


def _dying(stores: Stores, left: list[int]) -> Stores:
    return replace(stores, **{store: _Dying(getattr(stores, store), left) for store in STORES})


def test_killed_between_any_two_acts_nothing_is_shown_early_and_nothing_is_lost(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    changes = _changes(stores)
    kept = Document(sha1hex, "flood " * 20)
    changes.put(NAME, [kept])
    for killed in range(200):
        left = [killed]
        dying = _dying(stores, left)
        moved = replace(changes, tables=Tables(dying.table))
        try:
            EmbargoService(dying, moved, lambda: NOW).hide(_wanted(sha1hex))
            break
        except _KilledError:
            in_index = sha1hex in stores.index.get([sha1hex])
            assert stores.records.get(EmbargoRow, [sha1hex]) or in_index
            aside = stores.blobs.get(build_embargoed_blob_key(sha1hex))
            assert aside or changes.tables.get_row(DOCUMENTS, NAME.build_document_row(sha1hex))
    assert killed > 3
    assert changes.tables.get_row(DOCUMENTS, NAME.build_document_row(sha1hex)) is None
    for killed in range(200):
        left = [killed]
        dying = _dying(stores, left)
        moved = replace(changes, tables=Tables(dying.table))
        try:
            EmbargoService(dying, moved, _Clock(UNTIL)).lift_due()
            break
        except _KilledError:
            assert [row.sha1hex for row in iter_active_embargoes(stores)] == [sha1hex]
    assert killed > 3
    assert list(iter_active_embargoes(stores)) == []
    assert set(stores.index.get([sha1hex])) == {sha1hex}
    assert changes.tables.get_row(DOCUMENTS, NAME.build_document_row(sha1hex)) is not None


def test_it_may_be_hidden_before_it_comes_and_is_taken_down_like_any_other(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    act = EmbargoService(stores, None, lambda: NOW)
    act.hide(_wanted("ab" * 20))
    act.hide(_wanted(filled.pdfs[1]))
    row = create_takedown_service(stores)(TakedownRow(filled.pdfs[1], "privacy", "", "ann", NOW))
    assert row.finished is not None
    assert [active_embargoe.sha1hex for active_embargoe in iter_active_embargoes(stores)] == [
        "ab" * 20
    ]
    found = stores.index.search(SearchQuery("measurement"))
    assert found.total == 0
