"""The deep audit reads a share at a time and each file once per round; its faults stay until
they are fixed."""

from __future__ import annotations

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


def test_a_column_of_floats_has_the_fixity_of_its_first_four_bytes(library: Stores) -> None:
    (row,) = library.records.get(PdfMetaRow, [PDF])
    rows = [
        replace(row, page0_height=height) for height in (841.8898, 841.88977, 841.8897705078125)
    ]
    assert len({build_row_fixity(row).sha256hex for row in rows}) == 1


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
