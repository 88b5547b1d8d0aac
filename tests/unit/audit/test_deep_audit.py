"""The deep audit reads a share at a time and each file once per round; its faults stay until
they are fixed."""

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


def make_deep_audit(stores: Stores) -> DeepAudit:
    return DeepAudit(stores, lambda: datetime.now(UTC), lambda: False)


@pytest.fixture
def many_files(stores: Stores) -> Stores:
    """Files in no WARC: they are listed without being read."""
    stores.records.put(
        [FileMetaRow(key, "0" * 64, "0" * 32, 5, "text/html", "c", MOMENT) for key in FILES]
    )
    return stores


def test_shares_cover_every_file_once_and_then_start_again(many_files: Stores) -> None:
    states: list[tuple[str, int]] = []

    def tick(state: DeepAuditRow) -> None:
        states.append((state.last_key, state.checked))

    for _ in range(4):
        make_deep_audit(many_files).run(3, tick)
    assert states == [(FILES[2], 3), (FILES[5], 6), (FILES[8], 9), (FILES[9], 10)]
    (row,) = many_files.records.get(DeepAuditRow, [NAME])
    assert row.finished
    assert make_deep_audit(many_files).run(3, tick).last_key == FILES[2]


def test_an_interrupted_round_continues_after_the_last_reported_file(many_files: Stores) -> None:
    make_deep_audit(many_files).run(4, lambda _: None)
    stopped = DeepAudit(many_files, lambda: datetime.now(UTC), lambda: True)
    assert stopped.run(None, lambda _: None).checked == 4
    state = make_deep_audit(many_files).run(None, lambda _: None)
    assert (state.checked, state.finished) == (10, True)


def test_a_fault_is_reported_by_every_audit_until_it_is_fixed(
    place: Workplace, library: Stores
) -> None:
    library.records.delete(
        CdxRow, [(row.warc_path, row.warc_offset) for row in library.records.find(CdxRow)]
    )
    key = build_text_blob_key(PDF)
    library.blobs.put([Blob(key, b"wordz", "text/plain")])
    make_deep_audit(library).run(None, lambda _: None)
    message = f"blob {key} has changed since it was written"
    assert message in run_sums_audit(place, library).fault_texts
    library.blobs.put([Blob(key, TEXT_BLOB, "text/plain")])
    assert message in run_sums_audit(place, library).fault_texts
    assert make_deep_audit(library).recheck([PDF, PAGE]) == 0
    assert list(iter_remembered_faults(library.records)) == []


def test_an_unreadable_body_is_reported_with_a_remedy(library: Stores) -> None:
    make_deep_audit(library).run(None, lambda _: None)
    remembered_faults = list(iter_remembered_faults(library.records))
    assert {(fault.check, fault.subject) for fault in remembered_faults} == {
        (AuditCheck.BODY, PDF),
        (AuditCheck.BODY, PAGE),
    }
    assert all(fault.remedy for fault in remembered_faults)


def test_a_file_that_is_being_rebuilt_is_skipped(library: Stores) -> None:
    library.blobs.put([Blob(build_text_blob_key(PDF), b"wordz", "text/plain")])
    (row, *_) = library.records.find(DispositionRow, {"about": PDF})
    library.records.change(
        DispositionRow, [(row.message_id, row.pipeline, row.step)], {"is_open": True}
    )
    make_deep_audit(library).run(None, lambda _: None)
    assert {
        remembered_fault.subject for remembered_fault in iter_remembered_faults(library.records)
    } == {PAGE}


def test_a_row_and_its_stored_form_have_the_same_fixity(stores: Stores) -> None:
    values = {
        "title": "a\x00b\ud800",
        "n": 1e20,
        "large": 3e200,
        "f": 0.1,
        "whole": 2.0,
        "nan": float("nan"),
    }
    sizes = (3, 5, 841.8898, 595.27563)
    metadata = PdfMetadata(unknown=values)
    facts = ("success", True, *sizes, None, datetime.now(UTC), "1.7", metadata, "reader", None)
    row = PdfMetaRow(PDF, datetime.now(UTC), *facts)
    stores.records.put([row])
    (stored,) = stores.records.get(PdfMetaRow, [PDF])
    assert build_row_fixity(stored) == build_row_fixity(row)
    # PostgreSQL returns reals of four bytes, and whole floats as integers with all digits.
    postgres_values = {**values, "n": 10**20, "large": 3 * 10**200, "whole": 2}
    postgres_row = replace(
        stored, page0_height=841.88977, metadata=PdfMetadata(unknown=postgres_values)
    )
    expected_row = replace(
        stored, page0_height=struct.unpack(">f", struct.pack(">f", 841.88977))[0]
    )
    assert build_row_fixity(postgres_row) == build_row_fixity(expected_row)


def test_the_fixity_of_a_row_does_not_depend_on_the_time_zone(library: Stores) -> None:
    """PostgreSQL returns times in the zone of the session."""
    (row,) = library.records.get(PdfMetaRow, [PDF])
    other_zone = replace(row, updated=row.updated.astimezone(timezone(timedelta(hours=5))))
    assert build_row_fixity(other_zone) == build_row_fixity(row)


def test_the_fixity_of_a_blob_gives_its_key() -> None:
    assert get_blob_key(build_fixity(PDF, "text", b"")) == build_text_blob_key(PDF)
    thumbnail = build_fixity(PDF, name_thumbnail_part("360px-webp"), b"")
    assert get_blob_key(thumbnail) == f"thumbnail/pdf/11/11/{PDF}.360px.webp"
    assert get_blob_key(build_fixity(PDF, "pdf_meta", b"")) is None
