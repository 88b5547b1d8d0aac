"""A takedown removes a file from all stores, refuses its bytes, and is resumed after a kill."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from filled_home import FilledHome, fill_home, open_home
from fonds.audit.audit import run_audit
from fonds.audit.fault import AuditFault
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import DOCUMENTS, Tables
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason, Verdict
from fonds.model.file import FileMeta, IdentifiedCapture
from fonds.model.keys import build_text_blob_key
from fonds.model.restrictions import REDACTED
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow, InputRow, TakedownRow
from fonds.ports import Stores
from fonds.restrictions.traces import find_traces
from home_rows import NOW, Body, build_disposition, build_promise, entry
from published_results import result
from takedowns import (
    DyingStore,
    KilledError,
    build_takedown,
    create_takedown_service,
    ended_process,
    take_down,
)

NAME = CollectionName("news", "floods")


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


def test_the_published_text_of_a_file_is_removed(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    large = result("large", "words " * 3_000_000, sha1hex)
    stores.queue.put("fonds-local.pdf-text", [large])
    key = f"published/pdf-text/{sha1hex[:2]}/{sha1hex[2:4]}/{sha1hex}.txt"
    assert key in find_traces(stores, None, sha1hex).blobs
    take_down(create_takedown_service(stores), build_takedown(sha1hex))
    assert stores.blobs.get(key) is None


@pytest.mark.parametrize("kind", ["pdfs", "stories"])
def test_a_takedown_removes_a_file_from_every_store(
    home: tuple[Stores, FilledHome], kind: str
) -> None:
    stores, filled = home
    sha1hex = getattr(filled, kind)[1]
    writer = open_collection_writer(stores)
    (document,) = find_traces(stores, None, sha1hex).documents
    writer.put(NAME, [Document(document, "flood " * 20), Document("other", "bridge " * 20)])
    before = find_traces(stores, writer.tables, sha1hex)
    assert all((before.captures, before.blobs, before.rows, before.messages))
    assert before.collections == ["news/floods"]
    row = take_down(create_takedown_service(stores, writer), build_takedown(sha1hex))
    assert row.finished == NOW
    assert not find_traces(stores, writer.tables, sha1hex).has_any
    assert stores.blobs.get(build_text_blob_key(sha1hex)) is None
    assert stores.index.get([document]) == {}
    assert writer.tables.get_row(DOCUMENTS, NAME.build_document_row("other")) is not None


def test_after_a_takedown_the_ledger_balances_without_naming_the_file(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.stories[0]
    entries = {row.entry_id for row in stores.records.find(DispositionRow, {"about": sha1hex})}
    urls = {row.url for row in stores.records.find(EntryRow, {"entry_id": list(entries)})}
    outcomes = stores.records.count(EntryRow, ("outcome", "reason"))
    take_down(create_takedown_service(stores), build_takedown(sha1hex))
    assert stores.ledger.recount() == []
    assert stores.records.count(EntryRow, ("outcome", "reason")) == outcomes
    assert stores.records.count(EntryRow, (), {"url": list(urls)})[()] == 0
    assert stores.records.count(DispositionRow, (), {"about": sha1hex})[()] == 0


def test_an_input_with_only_removed_files_loses_its_path_and_error(
    home: tuple[Stores, FilledHome],
) -> None:
    """The error of an input often contains its path."""
    stores, _ = home
    bodies = [
        Body(number, f"http://later.example/{number}", NOW, "application/pdf", b"%%PDF %d" % number)
        for number in (901, 902, 903)
    ]
    inputs = [
        InputRow(name, f"/a/{name}.zip", "file", "{}", 1, 1, {}, 0, True, error, NOW, "library")
        for name, error in (("gone", "/a/gone.zip is cut"), ("mixed", "/a/mixed.zip is cut"))
    ]
    entries = [
        replace(entry(body), input_id=name)
        for body, name in zip(bodies, ("gone", "mixed", "mixed"), strict=True)
    ]
    stores.ledger.enter(inputs, entries, ["identify"])
    stores.ledger.write([build_disposition(body, "identify", 0) for body in bodies])
    for body in bodies[:2]:
        take_down(create_takedown_service(stores), build_takedown(body.sha1hex))
    keys = [(row.input_id, row.pipeline) for row in inputs]
    path_and_error = {
        row.input_id: (row.path, row.error) for row in stores.records.get(InputRow, keys)
    }
    assert path_and_error == {
        "gone": (REDACTED, REDACTED),
        "mixed": ("/a/mixed.zip", "/a/mixed.zip is cut"),
    }


def test_taking_down_an_earlier_version_keeps_the_current_one(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    current_version, earlier_version = filled.stories[31:33]
    (id_,) = find_traces(stores, None, current_version).documents
    assert find_traces(stores, None, earlier_version).documents == []
    take_down(create_takedown_service(stores), build_takedown(earlier_version))
    assert stores.index.get([id_])[id_].sha1hex == current_version


def test_taking_down_the_current_version_shows_the_earlier_one(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    current_version, earlier_version = filled.stories[31:33]
    (id_,) = find_traces(stores, None, current_version).documents
    row = take_down(create_takedown_service(stores), build_takedown(current_version))
    assert row.finished is not None
    assert stores.index.get([id_])[id_].sha1hex == earlier_version


def test_the_bytes_of_a_removed_file_are_refused_and_not_recorded(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    take_down(create_takedown_service(stores), build_takedown(sha1hex))
    persist = PersistFileStep(stores.table, stores.records, stores.journal, False, lambda: NOW)
    place = Place(PlaceKind.WARC, "/crawls/later.warc.gz", 7, 9)
    capture = Capture("later", "input", place, "http://later.example/secret", NOW, "response")
    mime = "application/pdf"
    file = FileMeta(9, mime, "PDF document", mime, sha1hex, "cd" * 16, "ab" * 32)
    fresh = replace(file, sha1="ef" * 20)
    revisit = replace(capture, id="again", record_type="revisit", digest=sha1hex)
    results = persist(
        [
            IdentifiedCapture(capture, file),
            IdentifiedCapture(capture, fresh),
            IdentifiedCapture(revisit, None),
        ]
    )
    reasons = [result.disposition.reason for result in results]
    assert reasons == [Reason.TAKEN_DOWN, None, Reason.TAKEN_DOWN]
    assert not find_traces(stores, None, sha1hex).has_any
    assert stores.records.get(FileMetaRow, ["ef" * 20]) != []


class _OvertakenRecords:
    """Records where a file is taken down after the check for takedowns and before the next put."""

    def __init__(self, stores: Stores, takedown: TakedownRow) -> None:
        self._stores, self._wanted, self._is_done = stores, takedown, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stores.records, name)

    def put(self, rows: Any, **options: Any) -> None:
        if not self._is_done:
            self._is_done = True
            assert (
                take_down(create_takedown_service(self._stores), self._wanted).finished is not None
            )
        self._stores.records.put(rows, **options)


@pytest.mark.parametrize("is_revisit", [False, True])
def test_a_takedown_between_check_and_write_of_a_message_is_complete(
    home: tuple[Stores, FilledHome], is_revisit: bool
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    file_row = stores.records.get(FileMetaRow, [sha1hex])[0]
    records: Any = _OvertakenRecords(stores, build_takedown(sha1hex))
    persist = PersistFileStep(stores.table, records, stores.journal, False, lambda: NOW)
    place = Place(PlaceKind.WARC, "/crawls/later.warc.gz", 7, 9)
    capture = Capture("later", "input", place, "http://later.example/secret", NOW, "response")
    mime = "application/pdf"
    file = FileMeta(
        file_row.size_bytes,
        mime,
        "PDF document",
        mime,
        sha1hex,
        file_row.md5hex,
        file_row.sha256hex,
    )
    fresh = IdentifiedCapture(
        replace(capture, id="other", place=replace(place, offset=99)), replace(file, sha1="ef" * 20)
    )
    revisit = replace(capture, record_type="revisit", digest=sha1hex)
    capture_or_revisit = (
        IdentifiedCapture(revisit, None) if is_revisit else IdentifiedCapture(capture, file)
    )
    results = persist([capture_or_revisit, fresh])
    assert [result.disposition.reason for result in results] == [Reason.TAKEN_DOWN, None]
    assert not find_traces(stores, None, sha1hex).has_any
    assert stores.records.get(FileMetaRow, ["ef" * 20]) != []


def test_rows_of_a_killed_process_are_removed_with_its_redelivered_message(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    (before,) = stores.records.get(FileMetaRow, [sha1hex])
    assert take_down(create_takedown_service(stores), build_takedown(sha1hex)).finished is not None
    stores.records.put([before])
    persist = PersistFileStep(stores.table, stores.records, stores.journal, False, lambda: NOW)
    place = Place(PlaceKind.WARC, "/crawls/later.warc.gz", 7, 9)
    capture = Capture("later", "input", place, "http://later.example/secret", NOW, "response")
    persist([IdentifiedCapture(replace(capture, record_type="revisit", digest=sha1hex), None)])
    assert not find_traces(stores, None, sha1hex).has_any


def test_the_ledger_redacts_a_refused_file(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    body = Body(900, "http://later.example/secret", NOW, "application/pdf", b"%PDF secret")
    stores.ledger.enter([], [entry(body)], ["identify"])
    before = [
        build_disposition(body, "identify", 0),
        build_promise(body, "persist_file", 1, "identify"),
    ]
    stores.ledger.write(before)
    refusal = (Verdict.DROPPED, Reason.TAKEN_DOWN, body.url)
    stores.ledger.write([build_disposition(body, "persist_file", 1, "identify", *refusal)])
    (row,) = stores.records.find(EntryRow, {"entry_id": body.capture_id})
    assert (row.outcome, row.reason) == ("dropped", "taken-down")
    assert (row.url, row.place, row.about) == (REDACTED, None, None)
    assert stores.records.count(DispositionRow, (), {"about": body.sha1hex})[()] == 0
    (last,) = stores.records.find(DispositionRow, {"reason": "taken-down"})
    assert last.detail == REDACTED
    assert stores.ledger.recount() == []


def test_a_takedown_killed_between_any_two_writes_is_completed_by_a_repeat(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex, process_name = filled.stories[0], ended_process()
    kill_after = 0
    while True:
        writes_left = [kill_after]
        names = ("records", "blobs", "index", "table")
        dying_stores = replace(
            stores, **{name: DyingStore(getattr(stores, name), writes_left) for name in names}
        )
        try:
            row = take_down(
                create_takedown_service(dying_stores, who=process_name), build_takedown(sha1hex)
            )
            break
        except KilledError:
            # The refusal of its bytes was recorded before anything was removed.
            takedowns = stores.records.get(TakedownRow, [sha1hex])
            assert bool(takedowns) or find_traces(stores, None, sha1hex).captures > 0
            assert kill_after == 0 or takedowns[0].finished is None
        kill_after += 1
        assert kill_after < 200
    assert kill_after > 8
    assert row.finished == NOW
    assert not find_traces(stores, None, sha1hex).has_any
    assert stores.ledger.recount() == []


def test_a_takedown_is_unfinished_while_messages_are_in_flight(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    row = take_down(create_takedown_service(stores), build_takedown(filled.pending))
    assert row.finished is None
    assert find_traces(stores, None, filled.pending).in_flight == 2


def test_the_audit_reports_nothing_after_a_takedown(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    before: list[AuditFault] = []
    run_audit(stores, {}, before.append)
    sha1hex = filled.stories[0]
    take_down(create_takedown_service(stores), build_takedown(sha1hex))
    after: list[AuditFault] = []
    run_audit(stores, {}, after.append)
    assert {fault.message for fault in after} - {fault.message for fault in before} == set()
