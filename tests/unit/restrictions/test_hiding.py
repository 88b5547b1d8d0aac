"""A file under embargo is in no index or collection, and is restored when the embargo is lifted."""

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
from takedowns import create_takedown_service, take_down

NAME = CollectionName("news", "floods")
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


def open_collection_writer(stores: Stores) -> CollectionWriter:
    tables = Tables(stores.table)
    tables.declare()
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    return CollectionWriter(tables, leases, lambda: 1)


def build_embargo(sha1hex: str) -> EmbargoRow:
    return EmbargoRow(sha1hex, "publication", "asked for", UNTIL, "ann", NOW)


def get_document(stores: Stores, id_: str) -> IndexDocument:
    return stores.index.get([id_])[id_]


@pytest.mark.parametrize("kind", ["pdfs", "stories"])
def test_a_hidden_file_leaves_index_and_collections_and_is_restored_when_lifted(
    home: tuple[Stores, FilledHome], kind: str
) -> None:
    stores, filled = home
    sha1hex = getattr(filled, kind)[1]
    writer = open_collection_writer(stores)
    (id_,) = find_traces(stores, None, sha1hex).documents
    document = Document(id_, "flood " * 20, "A title", "http://x.example/", "en", 7)
    writer.put(NAME, [document, Document("other", "bridge " * 20)])
    before, row = (
        get_document(stores, id_),
        writer.tables.get_row(DOCUMENTS, NAME.build_document_row(id_)),
    )
    embargoes = EmbargoService(stores, writer, lambda: NOW)
    embargoes.hide(build_embargo(sha1hex))
    assert stores.index.get([id_]) == {}
    assert writer.tables.get_row(DOCUMENTS, NAME.build_document_row(id_)) is None
    assert writer.tables.get_row(DOCUMENTS, NAME.build_document_row("other")) is not None
    assert embargoes.lift(sha1hex)
    after = get_document(stores, id_)
    assert (after.sha1hex, after.url, after.text_content) == (
        before.sha1hex,
        before.url,
        before.text_content,
    )
    row_after = writer.tables.get_row(DOCUMENTS, NAME.build_document_row(id_)) or {}
    assert (row or {}).keys() <= row_after.keys()
    assert row_after["main:text"] == document.text.encode()
    assert stores.blobs.get(build_embargoed_blob_key(sha1hex)) is None
    assert not embargoes.lift(sha1hex)


def test_a_file_hidden_again_during_a_lift_stays_hidden_until_its_new_date(
    home: tuple[Stores, FilledHome],
) -> None:
    """An overtaken lift must not end the new embargo, because nothing would lift that one later."""
    stores, filled = home
    sha1hex, calls = filled.pdfs[1], 0
    hide = EmbargoService(stores, None, lambda: NOW).hide

    def clock() -> datetime:
        nonlocal calls
        calls += 1
        if calls == 2:  # just before the lift records its end
            hide(build_embargo(sha1hex))
        return NOW

    (id_,) = find_traces(stores, None, sha1hex).documents
    hide(build_embargo(sha1hex))
    assert EmbargoService(stores, None, clock).lift(sha1hex)
    assert stores.index.get([id_]) == {}
    assert [row.sha1hex for row in iter_active_embargoes(stores)] == [sha1hex]
    assert EmbargoService(stores, None, lambda: UNTIL).lift_due() == 1
    assert id_ in stores.index.get([id_])


def test_an_embargo_is_lifted_at_its_date_and_not_before(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    clock = _Clock(NOW)
    embargoes = EmbargoService(stores, None, clock)
    embargoes.hide(build_embargo(filled.pdfs[1]))
    embargoes.hide(replace(build_embargo(filled.pdfs[2]), until=UNTIL + timedelta(days=1)))
    clock.now = UNTIL - timedelta(seconds=1)
    assert embargoes.lift_due() == 0
    clock.now = UNTIL
    assert embargoes.lift_due() == 1
    assert [row.sha1hex for row in iter_active_embargoes(stores)] == [filled.pdfs[2]]
    assert set(stores.index.get(filled.pdfs[1:3])) == {filled.pdfs[1]}


def test_writing_a_hidden_document_does_not_restore_it(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    document = get_document(stores, sha1hex)
    total = stores.index.count()
    EmbargoService(stores, None, lambda: NOW).hide(build_embargo(sha1hex))
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


def test_a_write_that_overlaps_with_hiding_is_undone(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    document = get_document(stores, sha1hex)

    class _OvertakenIndex:
        """An index where the file is hidden during a write."""

        def __getattr__(self, name: str) -> Any:
            return getattr(stores.index.index, name)  # type: ignore[attr-defined]

        def put(self, documents: Any) -> None:
            EmbargoService(stores, None, lambda: NOW).hide(build_embargo(sha1hex))
            stores.index.index.put(documents)  # type: ignore[attr-defined]

    replace(stores.index, index=_OvertakenIndex()).put([document])  # type: ignore[type-var]
    assert stores.index.get([sha1hex]) == {}


@pytest.mark.parametrize("is_hidden_meanwhile", [False, True])
def test_writing_a_story_does_not_restore_its_hidden_earlier_version(
    home: tuple[Stores, FilledHome], is_hidden_meanwhile: bool
) -> None:
    stores, filled = home
    reindex(stores.records, stores.blobs, stores.index, lambda _: None)
    current_version, earlier_version = filled.stories[31:33]
    (id_,) = find_traces(stores, None, current_version).documents
    document, query = get_document(stores, id_), SearchQuery("version:all title:32")
    assert [earlier.sha1hex for earlier in document.earlier] == [earlier_version]
    assert stores.index.search(query).total == 1
    embargoes = EmbargoService(stores, None, lambda: NOW)

    class _OvertakenIndex:
        """An index where the earlier version is hidden during a write."""

        def __getattr__(self, name: str) -> Any:
            return getattr(stores.index.index, name)  # type: ignore[attr-defined]

        def put(self, documents: Any) -> None:
            if not act_is_done:
                embargoes.hide(build_embargo(earlier_version))
                act_is_done.append(True)
            stores.index.index.put(documents)  # type: ignore[attr-defined]

    act_is_done: list[bool] = []
    if is_hidden_meanwhile:
        replace(stores.index, index=_OvertakenIndex()).put([document])  # type: ignore[type-var]
    else:
        embargoes.hide(build_embargo(earlier_version))
        stores.index.put([document])
    assert get_document(stores, id_).earlier == ()
    assert stores.index.search(query).total == 0
    assert embargoes.lift(earlier_version)
    assert stores.index.search(query).total == 1


def test_another_version_of_a_story_is_shown_during_an_embargo(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    current_version, earlier_version = filled.stories[31:33]
    (id_,) = find_traces(stores, None, current_version).documents
    embargoes = EmbargoService(stores, None, lambda: NOW)
    embargoes.hide(build_embargo(current_version))
    assert get_document(stores, id_).sha1hex == earlier_version
    embargoes.hide(build_embargo(earlier_version))
    assert stores.index.get([id_]) == {}
    embargoes.lift(earlier_version)
    embargoes.lift(current_version)
    assert get_document(stores, id_).sha1hex == current_version


def test_the_audit_accepts_a_hidden_file_and_reports_it_in_the_index(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    document = get_document(stores, sha1hex)
    before: list[AuditFault] = []
    run_audit(stores, {}, before.append)
    EmbargoService(stores, None, lambda: NOW).hide(build_embargo(sha1hex))
    hidden: list[AuditFault] = []
    run_audit(stores, {}, hidden.append)
    assert {fault.message for fault in hidden} - {fault.message for fault in before} == set()
    stores.index.index.put([document])  # type: ignore[attr-defined]
    leaked: list[AuditFault] = []
    run_audit(stores, {}, leaked.append)
    (message,) = {fault.message for fault in leaked} - {fault.message for fault in before}
    assert message == f"PDF {sha1hex} is in the index but should not be"


class _KilledError(Exception):
    """The simulated process is killed."""


class _DyingStore:
    """A store that raises after a number of writes to all stores."""

    def __init__(self, store: Any, writes_left: list[int]) -> None:
        self._store, self._left = store, writes_left

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in ("put", "delete", "change", "change_each"):
            return method

        def act(*args: Any, **options: Any) -> Any:
            if self._left[0] == 0:
                raise _KilledError
            self._left[0] -= 1
            return method(*args, **options)

        return act


def create_dying_stores(stores: Stores, writes_left: list[int]) -> Stores:
    return replace(
        stores, **{store: _DyingStore(getattr(stores, store), writes_left) for store in STORES}
    )


def test_a_kill_between_any_two_writes_shows_and_loses_nothing(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    writer = open_collection_writer(stores)
    document = Document(sha1hex, "flood " * 20)
    writer.put(NAME, [document])
    for kill_after in range(200):
        writes_left = [kill_after]
        dying_stores = create_dying_stores(stores, writes_left)
        dying_writer = replace(writer, tables=Tables(dying_stores.table))
        try:
            EmbargoService(dying_stores, dying_writer, lambda: NOW).hide(build_embargo(sha1hex))
            break
        except _KilledError:
            in_index = sha1hex in stores.index.get([sha1hex])
            assert stores.records.get(EmbargoRow, [sha1hex]) or in_index
            embargoed_copy = stores.blobs.get(build_embargoed_blob_key(sha1hex))
            assert embargoed_copy or writer.tables.get_row(
                DOCUMENTS, NAME.build_document_row(sha1hex)
            )
    assert kill_after > 3
    assert writer.tables.get_row(DOCUMENTS, NAME.build_document_row(sha1hex)) is None
    for kill_after in range(200):
        writes_left = [kill_after]
        dying_stores = create_dying_stores(stores, writes_left)
        dying_writer = replace(writer, tables=Tables(dying_stores.table))
        try:
            EmbargoService(dying_stores, dying_writer, _Clock(UNTIL)).lift_due()
            break
        except _KilledError:
            assert [row.sha1hex for row in iter_active_embargoes(stores)] == [sha1hex]
    assert kill_after > 3
    assert list(iter_active_embargoes(stores)) == []
    assert set(stores.index.get([sha1hex])) == {sha1hex}
    assert writer.tables.get_row(DOCUMENTS, NAME.build_document_row(sha1hex)) is not None


def test_a_file_can_be_hidden_before_it_arrives_and_taken_down_while_hidden(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    embargoes = EmbargoService(stores, None, lambda: NOW)
    embargoes.hide(build_embargo("ab" * 20))
    embargoes.hide(build_embargo(filled.pdfs[1]))
    row = take_down(
        create_takedown_service(stores), TakedownRow(filled.pdfs[1], "privacy", "", "ann", NOW)
    )
    assert row.finished is not None
    assert [embargo.sha1hex for embargo in iter_active_embargoes(stores)] == ["ab" * 20]
    result = stores.index.search(SearchQuery("measurement"))
    assert result.total == 0
