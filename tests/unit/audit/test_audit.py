"""The audit of the stores: what is whole passes, and each kind of loss is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit_bench import (
    MOMENT,
    PAGE,
    PDF,
    STEPS,
    STORY,
    build_disposition,
    document_of,
    entry_of,
    meta_of,
    put_with_fixity,
    run_sums_audit,
    story_row,
    unbook,
)
from fonds.derivatives.sketch import build_page_sketch, write_sketches
from fonds.model.file import Kind
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.message import Subscription
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.ports import Stores
from fonds.stores.journal_table.cells import build_file_cells
from small_pipeline import SUMS, Workplace


def test_a_whole_library_balances(place: Workplace, library: Stores) -> None:
    assert run_sums_audit(place, library).fault_texts == []


@pytest.mark.parametrize(
    "key", [build_text_blob_key(PDF), build_thumbnail_blob_key(PDF), build_text_blob_key(PAGE)]
)
def test_a_lost_blob_is_named(place: Workplace, library: Stores, key: str) -> None:
    library.blobs.delete([key])
    assert run_sums_audit(place, library).fault_texts == [f"blob {key} is missing"]


@pytest.mark.parametrize(("id_", "what"), [(PDF, "PDF"), (STORY, "story")])
def test_a_document_lost_from_the_index_is_named(
    place: Workplace, library: Stores, id_: str, what: str
) -> None:
    library.index.delete([id_])
    assert run_sums_audit(place, library).fault_texts == [f"{what} {id_} is missing from the index"]


def test_a_story_that_is_in_the_index_as_another_version_is_named(
    place: Workplace, library: Stores
) -> None:
    older = replace(story_row(), sha1hex=PDF, captured="20230305060708")
    put_with_fixity(library, older)
    write_sketches(library.records, [build_page_sketch(older, "words")], ())
    for step in STEPS[PAGE]:
        library.ledger.write([build_disposition(entry_of(PDF), step, "done", about=PDF)])
    assert run_sums_audit(place, library).fault_texts == []
    library.index.put([replace(document_of(PAGE, Kind.STORY), sha1hex=PDF)])
    told = f"story {STORY} has the SHA-1 {PDF} in the index instead of {PAGE}"
    assert run_sums_audit(place, library).fault_texts == [told]


def test_a_lost_row_of_the_table_is_named(place: Workplace, library: Stores) -> None:
    library.table.delete("journal", [bytes.fromhex(PAGE)])
    found = run_sums_audit(place, library)
    assert found.fault_texts == [f"file {PAGE} has no row in the table journal"]


def test_a_lost_row_of_the_records_is_named(place: Workplace, library: Stores) -> None:
    library.records.delete(FileMetaRow, [PDF])
    told = f"file {PDF} has no row in file_meta"
    in_table = f"file {PDF} has a row in the table but none in file_meta"
    assert run_sums_audit(place, library).fault_texts == [in_table]
    library.table.delete("journal", [bytes.fromhex(PDF)])
    # Its text and the sketch of that are two rows.
    assert run_sums_audit(place, library).fault_texts == [told, told]


ARCHIVE_BODY = Subscription(f"{SUMS.name}.archive_body", "t.sums.unarchived")


@pytest.fixture
def unarchived(place: Workplace, library: Stores) -> Stores:
    """The same in a pipeline that archives, and nothing lies in a WARC."""
    place.subscriptions.append(ARCHIVE_BODY)
    place.queue.declare([ARCHIVE_BODY])
    places = [(row.warc_path, row.warc_offset) for row in library.records.find(CdxRow)]
    library.records.delete(CdxRow, places)
    for one in (PDF, PAGE):
        key = bytes.fromhex(one)
        library.table.delete("journal", [key])
        library.table.put("journal", [(key, build_file_cells(meta_of(one)))])
    return library


def test_a_file_that_lies_in_no_warc_is_named(place: Workplace, unarchived: Stores) -> None:
    found = run_sums_audit(place, unarchived)
    assert sorted(found.fault_texts) == [f"file {one} is in no WARC" for one in (PDF, PAGE)]


def test_a_file_whose_archiving_is_quarantined_is_accounted_for(
    place: Workplace, unarchived: Stores
) -> None:
    for one in (PDF, PAGE):
        entry = EntryRow(one[:3], SUMS.name, "capture", "", "u", None, "p", "c", MOMENT)
        unarchived.ledger.enter([], [entry], ())
        unarchived.ledger.write(
            [build_disposition(one[:3], "archive_body", "quarantined", "timeout", one)]
        )
    found = run_sums_audit(place, unarchived)
    assert [fault for fault in found.fault_texts if "WARC" in fault] == []


def test_where_nothing_is_archived_no_file_has_to_lie_in_a_warc(
    place: Workplace, unarchived: Stores
) -> None:
    place.subscriptions.remove(ARCHIVE_BODY)
    assert run_sums_audit(place, unarchived).fault_texts == []


def test_beside_a_pipeline_that_archives_the_files_of_another_need_no_warc(
    place: Workplace, library: Stores, unarchived: Stores
) -> None:
    entry = EntryRow(entry_of(PDF), "metadata-only", "capture", "i", "u", None, "p", "c", MOMENT)
    unbook(unarchived, PDF, SUMS.name)
    unarchived.ledger.enter([], [entry], ())
    seen = [build_disposition(entry_of(PDF), step, "done", about=PDF) for step in STEPS[PDF]]
    unarchived.ledger.write([replace(one, pipeline="metadata-only") for one in seen])
    assert run_sums_audit(place, unarchived).fault_texts == [f"file {PAGE} is in no WARC"]
    mine = replace(entry, pipeline=SUMS.name, input_id="")
    unarchived.ledger.enter([], [mine], ())
    unarchived.ledger.write(seen)
    found = run_sums_audit(place, unarchived)
    assert sorted(found.fault_texts) == [f"file {one} is in no WARC" for one in (PDF, PAGE)]
