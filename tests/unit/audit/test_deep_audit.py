"""The deep audit: a share at a time, each file once a round; what it finds stays until it is mended."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from audit_bench import MOMENT, PAGE, PDF, TEXT_BLOB, run_sums_audit
from fonds.audit.bodies import NAME, DeepAudit, iter_remembered_faults
from fonds.audit.fault import AuditCheck
from fonds.derivatives.fixity import (
    build_fixity,
    build_row_fixity,
    get_blob_key,
    name_thumbnail_part,
)
from fonds.model.archive import Blob
from fonds.model.keys import build_text_blob_key
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import (
    CdxRow,
    DeepAuditRow,
    DispositionRow,
    FileMetaRow,
    PdfMetaRow,
)
from fonds.ports import Stores
from small_pipeline import Workplace

FILES = [f"{number:02x}" * 20 for number in range(0, 250, 25)]


def deep(stores: Stores) -> DeepAudit:
    return DeepAudit(stores, lambda: datetime.now(UTC), lambda: False)


@pytest.fixture
def many(stores: Stores) -> Stores:
    """Files that lie in no WARC: nothing is read of them, they are only gone through."""
    stores.records.put(
        [FileMetaRow(key, "0" * 64, "0" * 32, 5, "text/html", "c", MOMENT) for key in FILES]
    )
    return stores


def test_shares_go_through_every_file_once_and_then_begin_anew(many: Stores) -> None:
    seen: list[tuple[str, int]] = []

    def tick(state: DeepAuditRow) -> None:
        seen.append((state.last_key, state.checked))

    for _ in range(4):
        deep(many).run(3, tick)
    assert seen == [(FILES[2], 3), (FILES[5], 6), (FILES[8], 9), (FILES[9], 10)]
    (row,) = many.records.get(DeepAuditRow, [NAME])
    assert row.finished
    assert deep(many).run(3, tick).last_key == FILES[2]


def test_a_round_that_was_left_off_goes_on_behind_what_was_told(many: Stores) -> None:
    deep(many).run(4, lambda _: None)
    stopped = DeepAudit(many, lambda: datetime.now(UTC), lambda: True)
    assert stopped.run(None, lambda _: None).checked == 4
    state = deep(many).run(None, lambda _: None)
    assert (state.checked, state.finished) == (10, True)


def test_what_is_found_is_told_by_every_audit_until_it_is_mended(
    place: Workplace, library: Stores
) -> None:
    library.records.delete(
        CdxRow, [(row.warc_path, row.warc_offset) for row in library.records.find(CdxRow)]
    )
    key = build_text_blob_key(PDF)
    library.blobs.put([Blob(key, b"wordz", "text/plain")])
    deep(library).run(None, lambda _: None)
    told = f"blob {key} has changed since it was written"
    assert told in run_sums_audit(place, library).fault_texts
    library.blobs.put([Blob(key, TEXT_BLOB, "text/plain")])
    assert told in run_sums_audit(place, library).fault_texts
    assert deep(library).recheck([PDF, PAGE]) == 0
    assert list(iter_remembered_faults(library.records)) == []


def test_a_body_that_cannot_be_read_is_named_with_its_place(library: Stores) -> None:
    deep(library).run(None, lambda _: None)
    remembered_faults = list(iter_remembered_faults(library.records))
    assert {(one.check, one.subject) for one in remembered_faults} == {
        (AuditCheck.BODY, PDF),
        (AuditCheck.BODY, PAGE),
    }
    assert all(one.remedy for one in remembered_faults)


def test_what_is_being_made_again_is_left_alone(library: Stores) -> None:
    library.blobs.put([Blob(build_text_blob_key(PDF), b"wordz", "text/plain")])
    (row, *_) = library.records.find(DispositionRow, {"about": PDF})
    library.records.change(
        DispositionRow, [(row.message_id, row.pipeline, row.step)], {"is_open": True}
    )
    deep(library).run(None, lambda _: None)
    assert {
        remembered_fault.subject for remembered_fault in iter_remembered_faults(library.records)
    } == {PAGE}


def test_fixity_is_the_same_for_a_row_and_for_what_the_database_gives_back(stores: Stores) -> None:
    said = {
        "title": "a\x00b\ud800",
        "n": 1e20,
        "large": 3e200,
        "f": 0.1,
        "whole": 2.0,
        "nan": float("nan"),
    }
    sizes = (3, 5, 841.8898, 595.27563)
    metadata = PdfMetadata(unknown=said)
    facts = ("success", True, *sizes, None, datetime.now(UTC), "1.7", metadata, "reader", None)
    row = PdfMetaRow(PDF, datetime.now(UTC), *facts)
    stores.records.put([row])
    (back,) = stores.records.get(PdfMetaRow, [PDF])
    assert build_row_fixity(back) == build_row_fixity(row)
    # As PostgreSQL gives them back: reals of four bytes, whole floats as integers of all their digits.
    as_there = {**said, "n": 10**20, "large": 3 * 10**200, "whole": 2}
    there = replace(back, page0_height=841.88977, metadata=PdfMetadata(unknown=as_there))
    here = replace(back, page0_height=struct.unpack(">f", struct.pack(">f", 841.88977))[0])
    assert build_row_fixity(there) == build_row_fixity(here)


def test_a_row_has_the_same_fixity_in_whatever_zone_its_time_is_read(library: Stores) -> None:
    """PostgreSQL returns times in the zone of the session."""
    (row,) = library.records.get(PdfMetaRow, [PDF])
    elsewhere = replace(row, updated=row.updated.astimezone(timezone(timedelta(hours=5))))
    assert build_row_fixity(elsewhere) == build_row_fixity(row)


def test_the_fixity_of_each_blob_names_the_blob() -> None:
    assert get_blob_key(build_fixity(PDF, "text", b"")) == build_text_blob_key(PDF)
    picture = build_fixity(PDF, name_thumbnail_part("360px-webp"), b"")
    assert get_blob_key(picture) == f"thumbnail/pdf/11/11/{PDF}.360px.webp"
    assert get_blob_key(build_fixity(PDF, "pdf_meta", b"")) is None
