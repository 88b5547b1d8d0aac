"""A takedown leaves nothing of a file in any store, refuses its bytes, and goes on when it was killed."""

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
)

NAME = CollectionName("told", "kept")


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


def test_the_text_a_public_topic_refers_to_is_removed(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    large = result("large", "words " * 3_000_000, sha1hex)
    stores.queue.put("fonds-local.pdf-text", [large])
    key = f"published/pdf-text/{sha1hex[:2]}/{sha1hex[2:4]}/{sha1hex}.txt"
    assert key in find_traces(stores, None, sha1hex).blobs
    create_takedown_service(stores)(build_takedown(sha1hex))
    assert stores.blobs.get(key) is None


@pytest.mark.parametrize("which", ["pdfs", "stories"])
def test_nothing_is_left_in_any_store(home: tuple[Stores, FilledHome], which: str) -> None:
    stores, filled = home
    sha1hex = getattr(filled, which)[1]
    changes = _changes(stores)
    (document,) = find_traces(stores, None, sha1hex).documents
    changes.put(NAME, [Document(document, "flood " * 20), Document("other", "bridge " * 20)])
    before = find_traces(stores, changes.tables, sha1hex)
    assert all((before.captures, before.blobs, before.rows, before.messages))
    assert before.collections == ["told/kept"]
    row = create_takedown_service(stores, changes)(build_takedown(sha1hex))
    assert row.finished == NOW
    assert not find_traces(stores, changes.tables, sha1hex).has_any
    assert stores.blobs.get(build_text_blob_key(sha1hex)) is None
    assert stores.index.get([document]) == {}
    assert changes.tables.get_row(DOCUMENTS, NAME.build_document_row("other")) is not None


def test_the_books_still_balance_and_name_it_no_more(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    sha1hex = filled.stories[0]
    entries = {row.entry_id for row in stores.records.find(DispositionRow, {"about": sha1hex})}
    urls = {row.url for row in stores.records.find(EntryRow, {"entry_id": list(entries)})}
    outcomes = stores.records.count(EntryRow, ("outcome", "reason"))
    create_takedown_service(stores)(build_takedown(sha1hex))
    assert stores.ledger.recount() == []
    assert stores.records.count(EntryRow, ("outcome", "reason")) == outcomes
    assert stores.records.count(EntryRow, (), {"url": list(urls)})[()] == 0
    assert stores.records.count(DispositionRow, (), {"about": sha1hex})[()] == 0


def test_an_input_of_removed_files_alone_says_neither_its_path_nor_its_error(
    home: tuple[Stores, FilledHome],
) -> None:
    """The error of an input often names its path."""
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
        replace(entry(one), input_id=name)
        for one, name in zip(bodies, ("gone", "mixed", "mixed"), strict=True)
    ]
    stores.ledger.enter(inputs, entries, ["identify"])
    stores.ledger.write([build_disposition(one, "identify", 0) for one in bodies])
    for one in bodies[:2]:
        create_takedown_service(stores)(build_takedown(one.sha1hex))
    keys = [(row.input_id, row.pipeline) for row in inputs]
    found = {row.input_id: (row.path, row.error) for row in stores.records.get(InputRow, keys)}
    assert found == {
        "gone": (REDACTED, REDACTED),
        "mixed": ("/a/mixed.zip", "/a/mixed.zip is cut"),
    }


def test_taking_down_the_shown_version_of_a_story_shows_the_other(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    shown, other = filled.stories[31:33]
    (id_,) = find_traces(stores, None, shown).documents
    assert find_traces(stores, None, other).documents == []
    create_takedown_service(stores)(build_takedown(other))
    assert stores.index.get([id_])[id_].sha1hex == shown


def test_a_story_of_one_more_version_goes_on_with_that(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    shown, other = filled.stories[31:33]
    (id_,) = find_traces(stores, None, shown).documents
    row = create_takedown_service(stores)(build_takedown(shown))
    assert row.finished is not None
    assert stores.index.get([id_])[id_].sha1hex == other


def test_its_bytes_are_refused_and_nothing_of_them_is_written(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    create_takedown_service(stores)(build_takedown(sha1hex))
    persist = PersistFileStep(stores.table, stores.records, stores.journal, False, lambda: NOW)
    place = Place(PlaceKind.WARC, "/crawls/later.warc.gz", 7, 9)
    capture = Capture("later", "input", place, "http://later.example/secret", NOW, "response")
    mime = "application/pdf"
    file = FileMeta(9, mime, "PDF document", mime, sha1hex, "cd" * 16, "ab" * 32)
    fresh = replace(file, sha1="ef" * 20)
    revisit = replace(capture, id="again", record_type="revisit", digest=sha1hex)
    told = persist(
        [
            IdentifiedCapture(capture, file),
            IdentifiedCapture(capture, fresh),
            IdentifiedCapture(revisit, None),
        ]
    )
    reasons = [one.disposition.reason for one in told]
    assert reasons == [Reason.TAKEN_DOWN, None, Reason.TAKEN_DOWN]
    assert not find_traces(stores, None, sha1hex).has_any
    assert stores.records.get(FileMetaRow, ["ef" * 20]) != []


class _Interrupted:
    """Records in which somebody takes a file down behind the look for takedowns, before what is put then."""

    def __init__(self, stores: Stores, wanted: TakedownRow) -> None:
        self._stores, self._wanted, self._is_done = stores, wanted, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stores.records, name)

    def put(self, rows: Any, **more: Any) -> None:
        if not self._is_done:
            self._is_done = True
            assert create_takedown_service(self._stores)(self._wanted).finished is not None
        self._stores.records.put(rows, **more)


@pytest.mark.parametrize("is_revisit", [False, True])
def test_a_takedown_between_the_look_and_the_write_of_a_message_misses_nothing(
    home: tuple[Stores, FilledHome], is_revisit: bool
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    known = stores.records.get(FileMetaRow, [sha1hex])[0]
    records: Any = _Interrupted(stores, build_takedown(sha1hex))
    persist = PersistFileStep(stores.table, records, stores.journal, False, lambda: NOW)
    place = Place(PlaceKind.WARC, "/crawls/later.warc.gz", 7, 9)
    capture = Capture("later", "input", place, "http://later.example/secret", NOW, "response")
    mime = "application/pdf"
    file = FileMeta(
        known.size_bytes, mime, "PDF document", mime, sha1hex, known.md5hex, known.sha256hex
    )
    fresh = IdentifiedCapture(
        replace(capture, id="other", place=replace(place, offset=99)), replace(file, sha1="ef" * 20)
    )
    revisit = replace(capture, record_type="revisit", digest=sha1hex)
    one = IdentifiedCapture(revisit, None) if is_revisit else IdentifiedCapture(capture, file)
    told = persist([one, fresh])
    assert [result.disposition.reason for result in told] == [Reason.TAKEN_DOWN, None]
    assert not find_traces(stores, None, sha1hex).has_any
    assert stores.records.get(FileMetaRow, ["ef" * 20]) != []


def test_what_a_killed_process_wrote_goes_when_its_message_is_back(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[1]
    (before,) = stores.records.get(FileMetaRow, [sha1hex])
    assert create_takedown_service(stores)(build_takedown(sha1hex)).finished is not None
    stores.records.put([before])
    persist = PersistFileStep(stores.table, stores.records, stores.journal, False, lambda: NOW)
    place = Place(PlaceKind.WARC, "/crawls/later.warc.gz", 7, 9)
    capture = Capture("later", "input", place, "http://later.example/secret", NOW, "response")
    persist([IdentifiedCapture(replace(capture, record_type="revisit", digest=sha1hex), None)])
    assert not find_traces(stores, None, sha1hex).has_any


def test_the_books_do_not_say_what_was_refused(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    body = Body(900, "http://later.example/secret", NOW, "application/pdf", b"%PDF secret")
    stores.ledger.enter([], [entry(body)], ["identify"])
    before = [
        build_disposition(body, "identify", 0),
        build_promise(body, "persist_file", 1, "identify"),
    ]
    stores.ledger.write(before)
    refused = (Verdict.DROPPED, Reason.TAKEN_DOWN, body.url)
    stores.ledger.write([build_disposition(body, "persist_file", 1, "identify", *refused)])
    (row,) = stores.records.find(EntryRow, {"entry_id": body.capture_id})
    assert (row.outcome, row.reason) == ("dropped", "taken-down")
    assert (row.url, row.place, row.about) == (REDACTED, None, None)
    assert stores.records.count(DispositionRow, (), {"about": body.sha1hex})[()] == 0
    (last,) = stores.records.find(DispositionRow, {"reason": "taken-down"})
    assert last.detail == REDACTED
    assert stores.ledger.recount() == []


def test_killed_between_any_two_acts_it_is_done_by_saying_it_again(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex, who = filled.stories[0], ended_process()
    killed = 0
    while True:
        left = [killed]
        names = ("records", "blobs", "index", "table")
        dying = replace(stores, **{name: DyingStore(getattr(stores, name), left) for name in names})
        try:
            row = create_takedown_service(dying, who=who)(build_takedown(sha1hex))
            break
        except KilledError:
            # What stands in the way of its bytes was there before anything went.
            there = stores.records.get(TakedownRow, [sha1hex])
            assert bool(there) or find_traces(stores, None, sha1hex).captures > 0
            assert killed == 0 or there[0].finished is None
        killed += 1
        assert killed < 200
    assert killed > 8
    assert row.finished == NOW
    assert not find_traces(stores, None, sha1hex).has_any
    assert stores.ledger.recount() == []


def test_while_messages_are_under_way_it_is_not_finished(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    row = create_takedown_service(stores)(build_takedown(filled.pending))
    assert row.finished is None
    assert find_traces(stores, None, filled.pending).in_flight == 2


def test_the_audit_finds_nothing_to_bring_back(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    before: list[AuditFault] = []
    run_audit(stores, {}, before.append)
    sha1hex = filled.stories[0]
    create_takedown_service(stores)(build_takedown(sha1hex))
    after: list[AuditFault] = []
    run_audit(stores, {}, after.append)
    assert {one.message for one in after} - {one.message for one in before} == set()
