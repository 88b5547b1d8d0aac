"""The audit of the stores: an intact library passes, and every kind of loss is reported."""

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
    build_document,
    build_entry_name,
    build_meta,
    build_story_row,
    delete_ledger_rows,
    put_with_fixity,
    run_sums_audit,
)
from fonds.derivatives.sketch import build_page_sketch, write_sketches
from fonds.model.file import Kind
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.message import Subscription
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.ports import Stores
from fonds.stores.journal_table.cells import build_file_cells
from small_pipeline import SUMS, Workplace


def test_an_intact_library_has_no_faults(place: Workplace, library: Stores) -> None:
    assert run_sums_audit(place, library).fault_texts == []


@pytest.mark.parametrize(
    "key", [build_text_blob_key(PDF), build_thumbnail_blob_key(PDF), build_text_blob_key(PAGE)]
)
def test_a_missing_blob_is_reported(place: Workplace, library: Stores, key: str) -> None:
    library.blobs.delete([key])
    assert run_sums_audit(place, library).fault_texts == [f"blob {key} is missing"]


@pytest.mark.parametrize(("id_", "kind"), [(PDF, "PDF"), (STORY, "story")])
def test_a_document_missing_from_the_index_is_reported(
    place: Workplace, library: Stores, id_: str, kind: str
) -> None:
    library.index.delete([id_])
    assert run_sums_audit(place, library).fault_texts == [f"{kind} {id_} is missing from the index"]


def test_a_story_with_another_version_in_the_index_is_reported(
    place: Workplace, library: Stores
) -> None:
    older = replace(build_story_row(), sha1hex=PDF, captured="20230305060708")
    put_with_fixity(library, older)
    write_sketches(library.records, [build_page_sketch(older, "words")], ())
    for step in STEPS[PAGE]:
        library.ledger.write([build_disposition(build_entry_name(PDF), step, "done", about=PDF)])
    assert run_sums_audit(place, library).fault_texts == []
    library.index.put([replace(build_document(PAGE, Kind.STORY), sha1hex=PDF)])
    message = f"story {STORY} has the SHA-1 {PDF} in the index instead of {PAGE}"
    assert run_sums_audit(place, library).fault_texts == [message]


def test_a_missing_table_row_is_reported(place: Workplace, library: Stores) -> None:
    library.table.delete("journal", [bytes.fromhex(PAGE)])
    audit = run_sums_audit(place, library)
    assert audit.fault_texts == [f"file {PAGE} has no row in the table journal"]


def test_a_missing_records_row_is_reported(place: Workplace, library: Stores) -> None:
    library.records.delete(FileMetaRow, [PDF])
    message = f"file {PDF} has no row in file_meta"
    in_table = f"file {PDF} has a row in the table but none in file_meta"
    assert run_sums_audit(place, library).fault_texts == [in_table]
    library.table.delete("journal", [bytes.fromhex(PDF)])
    # The text and its sketch are two rows.
    assert run_sums_audit(place, library).fault_texts == [message, message]


ARCHIVE_BODY = Subscription(f"{SUMS.name}.archive_body", "t.sums.unarchived")


@pytest.fixture
def unarchived_library(place: Workplace, library: Stores) -> Stores:
    """The library in a pipeline that archives, without any file in a WARC."""
    place.subscriptions.append(ARCHIVE_BODY)
    place.queue.declare([ARCHIVE_BODY])
    places = [(row.warc_path, row.warc_offset) for row in library.records.find(CdxRow)]
    library.records.delete(CdxRow, places)
    for sha1hex in (PDF, PAGE):
        key = bytes.fromhex(sha1hex)
        library.table.delete("journal", [key])
        library.table.put("journal", [(key, build_file_cells(build_meta(sha1hex)))])
    return library


def test_a_file_in_no_warc_is_reported(place: Workplace, unarchived_library: Stores) -> None:
    audit = run_sums_audit(place, unarchived_library)
    assert sorted(audit.fault_texts) == [f"file {sha1hex} is in no WARC" for sha1hex in (PDF, PAGE)]


def test_a_file_whose_archiving_is_quarantined_is_no_fault(
    place: Workplace, unarchived_library: Stores
) -> None:
    for sha1hex in (PDF, PAGE):
        entry = EntryRow(sha1hex[:3], SUMS.name, "capture", "", "u", None, "p", "c", MOMENT)
        unarchived_library.ledger.enter([], [entry], ())
        unarchived_library.ledger.write(
            [build_disposition(sha1hex[:3], "archive_body", "quarantined", "timeout", sha1hex)]
        )
    audit = run_sums_audit(place, unarchived_library)
    assert [fault for fault in audit.fault_texts if "WARC" in fault] == []


def test_files_of_a_pipeline_without_archiving_need_no_warc(
    place: Workplace, unarchived_library: Stores
) -> None:
    place.subscriptions.remove(ARCHIVE_BODY)
    assert run_sums_audit(place, unarchived_library).fault_texts == []


def test_files_of_another_pipeline_need_no_warc(
    place: Workplace, library: Stores, unarchived_library: Stores
) -> None:
    entry = EntryRow(
        build_entry_name(PDF), "metadata-only", "capture", "i", "u", None, "p", "c", MOMENT
    )
    delete_ledger_rows(unarchived_library, PDF, SUMS.name)
    unarchived_library.ledger.enter([], [entry], ())
    dispositions = [
        build_disposition(build_entry_name(PDF), step, "done", about=PDF) for step in STEPS[PDF]
    ]
    unarchived_library.ledger.write(
        [replace(row, pipeline="metadata-only") for row in dispositions]
    )
    assert run_sums_audit(place, unarchived_library).fault_texts == [f"file {PAGE} is in no WARC"]
    own_entry = replace(entry, pipeline=SUMS.name, input_id="")
    unarchived_library.ledger.enter([], [own_entry], ())
    unarchived_library.ledger.write(dispositions)
    audit = run_sums_audit(place, unarchived_library)
    assert sorted(audit.fault_texts) == [f"file {one} is in no WARC" for one in (PDF, PAGE)]
