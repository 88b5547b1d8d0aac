"""The audit: what is whole passes, and each kind of loss is named."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from fonds.formats.journal import encode_integer
from fonds.library.audit import MISSING_MAX, Audit, as_json, audit
from fonds.model.disposition import Reason, deferred, quarantined, retried
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import text_blob_key, thumbnail_blob_key
from fonds.model.message import Subscription
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.model.step import Pipeline, Result
from fonds.ports import Stores
from fonds.runtime.binding import subscriptions
from fonds.stores.blobs.folder import FolderBlobs
from fonds.stores.index.tantivy_index import TantivyIndex
from fonds.stores.table.sqlite import SqliteTable
from small_pipeline import SUMS, Workplace, double

MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
PDF, PAGE, STORY = "1" * 40, "2" * 40, "3" * 64


@pytest.fixture
def stores(place: Workplace, tmp_path: Path) -> Iterator[Stores]:
    table = SqliteTable(tmp_path / "table.sqlite")
    table.declare("journal", ["file"])
    yield Stores(
        queue=place.queue,
        table=table,
        records=place.records,
        ledger=place.ledger,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index=TantivyIndex(tmp_path / "index"),
        archive=cast(Any, None),
        journal="journal",
    )
    table.close()


@pytest.fixture
def library(stores: Stores) -> Stores:
    """A PDF and a page, everything about them in its place."""
    stores.blobs.put(text_blob_key(PDF), b"words", "text/plain")
    stores.blobs.put(thumbnail_blob_key(PDF), b"jpeg", "image/jpeg")
    stores.blobs.put(text_blob_key(PAGE), b"words", "text/plain")
    stores.index.put([_document(PDF, Kind.PDF), _document(PAGE, Kind.STORY)])
    stores.table.put(
        "journal", [(bytes.fromhex(one), {"file:size": encode_integer(5)}) for one in (PDF, PAGE)]
    )
    stores.records.put([*_rows(PDF), *_rows(PAGE), _pdf_row(), _story_row()])
    return stores


def _document(sha1hex: str, kind: Kind) -> IndexDocument:
    id_ = STORY if kind is Kind.STORY else sha1hex
    return IndexDocument(
        id_, sha1hex, kind, "http://e.org/", "e.org", None, None, None, "w", MOMENT
    )


def _rows(sha1hex: str) -> list[Any]:
    place = (f"/{sha1hex}.warc", 10, 0)
    return [
        FileMetaRow(sha1hex, "0" * 64, "0" * 32, 5, "text/html", "c", MOMENT),
        CdxRow("c", sha1hex, "http://e.org/", "s", "0" * 40, "20240305060708", "m", *place, MOMENT),
    ]


def _pdf_row() -> PdfMetaRow:
    sizes = (1, 1, None, None)
    return PdfMetaRow(PDF, MOMENT, "success", True, *sizes, None, None, None, None, "x", None)


def _story_row() -> StoryMetaRow:
    return StoryMetaRow(
        PAGE,
        STORY,
        "20240305060708",
        MOMENT,
        "success",
        "http://e.org/",
        "",
        None,
        None,
        None,
        1,
        {},
        "x",
    )


def audited(place: Workplace, stores: Stores) -> Audit:
    return audit(stores, {SUMS.name: place.subscriptions})


def _worked_off(place: Workplace, count: int = 4) -> list[str]:
    ids = place.enter(*range(count))
    place.loop().turn(0.0)
    return ids


def _finished(entries: int) -> InputRow:
    """The input all numbers come from, read to its end."""
    return _input("input", "/w", entries, finished=True)


def _input(input_id: str, path: str, entries: int, *, finished: bool) -> InputRow:
    facts = ("warc", "1:1", 0, entries, {}, 0, finished, None, MOMENT, SUMS.name)
    return InputRow(input_id, path, *facts)


def test_an_empty_home_balances(place: Workplace, stores: Stores) -> None:
    found = audited(place, stores)
    assert found.balanced
    assert found.missing == []


def test_what_waits_and_what_ended_adds_up(place: Workplace, stores: Stores) -> None:
    _worked_off(place)
    place.enter(7, 8)
    found = audited(place, stores)
    assert found.balanced, found.missing
    assert as_json(found) == {
        "balanced": True,
        "missing": [],
        "missing_count": 0,
        "steps": {
            "sums": {
                "double": {"in": 6, "done": 4, "dropped": 0, "quarantined": 0, "pending": 2},
                "keep": {"in": 4, "done": 0, "dropped": 0, "quarantined": 0, "pending": 4},
            },
        },
    }


def test_what_is_in_hand_or_delayed_is_pending(place: Workplace, stores: Stores) -> None:
    place.enter(1, 2)
    place.queue.receive("sums.double-in", 1, 0.0)
    (delayed,) = place.queue.receive("sums.double-in", 1, 0.0)
    place.queue.put("sums.double-in", [replace(delayed.message, attempt=1)], delay_s=60)
    place.queue.settle([delayed])
    found = audited(place, stores)
    assert found.balanced, found.missing
    assert found.steps["sums"]["double"].pending == 2


def test_a_message_that_vanished_before_its_first_step_is_named(
    place: Workplace, stores: Stores
) -> None:
    place.enter(1, 2)
    place.ledger.enter([_finished(2)], [], ())
    place.queue.settle(place.queue.receive("sums.double-in", 1, 0.0))
    found = audited(place, stores)
    assert not found.balanced
    assert found.missing == [
        "sums.double: 1 of 2 unsettled messages are in no queue (among id-001, id-002)"
    ]


def test_a_message_that_vanished_between_two_steps_is_named(
    place: Workplace, stores: Stores
) -> None:
    _worked_off(place, 1)
    place.taken("sums.keep-in")
    found = audited(place, stores)
    assert found.missing == ["sums.keep: 1 of 1 unsettled messages are in no queue (among id-000)"]
    assert found.steps["sums"]["keep"].missing == 1


def test_a_message_that_vanished_from_quarantine_is_told(place: Workplace, stores: Stores) -> None:
    place.enter(1)
    place.loop(lambda item: Result(quarantined(Reason.TIMEOUT))).turn(0.0)
    assert audited(place, stores).balanced
    place.taken("sums.double-quar")
    found = audited(place, stores)
    assert found.missing == ["sums.double: 1 quarantined messages are not in quarantine"]


def test_dispositions_of_what_never_entered_do_not_hide_a_loss(
    place: Workplace, stores: Stores
) -> None:
    place.ledger.write([_ended("id-000a", "double", "done")])
    place.enter(1)
    place.ledger.enter([_finished(1)], [], ())
    place.taken("sums.double-in")
    assert audited(place, stores).missing == [
        "sums.double: 1 of 1 unsettled messages are in no queue (among id-001)",
        "entry id-000a (sums) is not on the books and has 1 dispositions",
    ]


def _ended(
    message_id: str, step: str, verdict: str, reason: str | None = None, about: str | None = None
) -> DispositionRow:
    parents, attempt = (None, None), 0
    return DispositionRow(
        *(message_id, SUMS.name, step, message_id, *parents),
        *(verdict, False, reason, "", about, attempt, MOMENT, MOMENT),
    )


def test_entries_written_down_and_not_yet_sent_are_pending(
    place: Workplace, stores: Stores
) -> None:
    """An intake that was killed between the two sends them when it goes on."""
    place.enter(1, 2)
    place.taken("sums.double-in")
    place.ledger.enter([_input("input", "/w", 0, finished=False)], [], ())
    found = audited(place, stores)
    assert found.missing == []
    assert found.steps["sums"]["double"].pending == 2


@dataclass
class WorksMeanwhile:
    """Records that are read slowly: before the first row is given out, a worker takes a turn."""

    real: Any
    place: Workplace

    def __getattr__(self, name: str) -> Any:
        if name == "find":
            self.place.clock.now_s = time.time() + 1
            while self.place.loop(double).turn(0.0):
                pass
        return getattr(self.real, name)


def test_a_worker_that_runs_meanwhile_is_no_loss(place: Workplace, stores: Stores) -> None:
    place.enter(*range(5))
    moving = replace(stores, records=cast(Any, WorksMeanwhile(stores.records, place)))
    found = audited(place, moving)
    assert found.missing == []


def test_an_input_whose_entries_are_not_all_on_the_books_is_named(
    place: Workplace, stores: Stores
) -> None:
    place.enter(1)
    place.ledger.enter([_finished(2)], [], ())
    found = audited(place, stores)
    assert found.missing == ["/w: 2 entries were read and 1 are on the books"]


def test_an_input_that_is_still_read_may_be_behind(place: Workplace, stores: Stores) -> None:
    place.enter(1)
    place.ledger.enter([_input("input", "/w", 0, finished=False)], [], ())
    assert audited(place, stores).balanced


def test_a_whole_library_balances(place: Workplace, library: Stores) -> None:
    assert audited(place, library).missing == []


@pytest.mark.parametrize("key", [text_blob_key(PDF), thumbnail_blob_key(PDF), text_blob_key(PAGE)])
def test_a_lost_blob_is_named(place: Workplace, library: Stores, key: str) -> None:
    library.blobs.delete([key])
    assert audited(place, library).missing == [f"blob {key} is missing"]


@pytest.mark.parametrize(("id_", "what"), [(PDF, "PDF"), (STORY, "story")])
def test_a_document_lost_from_the_index_is_named(
    place: Workplace, library: Stores, id_: str, what: str
) -> None:
    library.index.delete([id_])
    assert audited(place, library).missing == [f"{what} {id_} is not in the index"]


def test_a_story_that_is_in_the_index_as_another_version_is_named(
    place: Workplace, library: Stores
) -> None:
    library.records.put([replace(_story_row(), sha1hex=PDF, captured="20230305060708")])
    assert audited(place, library).missing == []
    library.index.put([replace(_document(PAGE, Kind.STORY), sha1hex=PDF)])
    told = f"story {STORY} is in the index as {PDF}, not {PAGE}"
    assert audited(place, library).missing == [told]


def test_a_lost_row_of_the_table_is_named(place: Workplace, library: Stores) -> None:
    library.table.delete("journal", [bytes.fromhex(PAGE)])
    found = audited(place, library)
    assert found.missing == [f"file {PAGE} has no row in the table journal"]


def test_a_lost_row_of_the_records_is_named(place: Workplace, library: Stores) -> None:
    library.records.delete(FileMetaRow, [PDF])
    assert audited(place, library).missing == [f"file {PDF} has no row in file_meta"]


ARCHIVE_BODY = Subscription(f"{SUMS.name}.archive_body", "t.sums.unarchived")


@pytest.fixture
def unarchived(place: Workplace, library: Stores) -> Stores:
    """The same in a pipeline that archives, and nothing lies in a WARC."""
    place.subscriptions.append(ARCHIVE_BODY)
    place.queue.declare([ARCHIVE_BODY])
    places = [(row.warc_path, row.warc_offset) for row in library.records.find(CdxRow)]
    library.records.delete(CdxRow, places)
    return library


def test_a_file_that_lies_in_no_warc_is_named(place: Workplace, unarchived: Stores) -> None:
    found = audited(place, unarchived)
    assert sorted(found.missing) == [f"file {one} lies in no WARC" for one in (PDF, PAGE)]


def test_a_file_whose_archiving_is_quarantined_is_accounted_for(
    place: Workplace, unarchived: Stores
) -> None:
    for one in (PDF, PAGE):
        entry = EntryRow(one[:3], SUMS.name, "capture", "i", "u", None, "p", "c", MOMENT)
        unarchived.ledger.enter([], [entry], ())
        unarchived.ledger.write([_ended(one[:3], "archive_body", "quarantined", "timeout", one)])
    found = audited(place, unarchived)
    assert [fault for fault in found.missing if "WARC" in fault] == []


def test_where_nothing_is_archived_no_file_has_to_lie_in_a_warc(
    place: Workplace, unarchived: Stores
) -> None:
    place.subscriptions.remove(ARCHIVE_BODY)
    assert audited(place, unarchived).missing == []


def test_beside_a_pipeline_that_archives_the_files_of_another_need_no_warc(
    place: Workplace, unarchived: Stores
) -> None:
    entry = EntryRow("p", "metadata-only", "capture", "i", "u", None, "p", "c", MOMENT)
    seen = replace(_ended("p", "persist_file", "done", about=PDF), pipeline="metadata-only")
    unarchived.ledger.enter([], [entry], ())
    unarchived.ledger.write([seen])
    assert audited(place, unarchived).missing == [f"file {PAGE} lies in no WARC"]
    mine = replace(entry, pipeline=SUMS.name)
    unarchived.ledger.enter([], [mine], ())
    unarchived.ledger.write([replace(seen, pipeline=SUMS.name)])
    found = audited(place, unarchived)
    assert sorted(found.missing) == [f"file {one} lies in no WARC" for one in (PDF, PAGE)]


def test_counts_and_outcomes_that_are_wrong_are_named(place: Workplace, stores: Stores) -> None:
    (one,) = _worked_off(place, 1)
    place.records.change(EntryRow, [(one, SUMS.name)], {"outcome": "done"})
    found = audited(place, stores)
    assert found.missing_count == 3
    assert found.missing[0].startswith(f"entry {one} (sums) stands as done with 1 open")
    assert [fault.split(":")[0] for fault in found.missing[1:]] == [
        "tally entries sums done double",
        "tally entries sums pending",
    ]


def test_pipelines_are_balanced_each_by_itself(place: Workplace, stores: Stores) -> None:
    """What one pipeline has too much in its queue does not make up for what another lost."""
    other = Pipeline("more", SUMS.entry, SUMS.stages)
    readers = subscriptions(other, "t")
    place.queue.declare(readers)
    entry = EntryRow("id-9", other.name, "number", "", "", None, None, "", place.clock())
    place.ledger.enter([], [entry], ["double"])
    place.enter(1, 2)
    found = audit(stores, {SUMS.name: place.subscriptions, other.name: readers})
    assert found.missing == ["more.double: 1 of 1 unsettled messages are in no queue (among id-9)"]
    assert found.steps["sums"]["double"].pending == 2
    assert found.steps["more"]["double"].missing == 1


def test_of_many_faults_all_are_counted_and_some_named(place: Workplace, stores: Stores) -> None:
    count = MISSING_MAX + 20
    stores.ledger.enter([_input(f"i{n}", f"/{n}", 1, finished=True) for n in range(count)], [], ())
    found = audited(place, stores)
    assert (found.missing_count, len(found.missing)) == (count, MISSING_MAX)


def test_more_dispositions_than_one_page_are_all_read(place: Workplace, stores: Stores) -> None:
    for start in range(0, 2500, 500):
        place.enter(*range(start, start + 500))
    while place.loop().turn(0.0):
        pass
    found = audited(place, stores)
    assert found.balanced, found.missing
    assert found.steps["sums"]["double"].done == 2500


@pytest.mark.parametrize("verdict", [retried, deferred])
def test_a_message_to_be_tried_again_that_vanished_is_named(
    place: Workplace, stores: Stores, verdict: Any
) -> None:
    """It has not ended: counted as settled its loss would balance."""
    place.enter(1)
    place.records.put([_finished(1)])
    later = Result(verdict(Reason.STORE_UNAVAILABLE, "not now", 30.0))
    place.loop(lambda item: later).turn(0.0)
    assert audited(place, stores).balanced
    place.clock.pass_s(100.0)
    place.taken("sums.double-in")
    found = audited(place, stores)
    assert found.missing == [
        "sums.double: 1 of 1 unsettled messages are in no queue (among id-001)"
    ]
