"""Rows for near-duplicates: the audit reports missing ones, and reindex rebuilds them."""

from __future__ import annotations

from audit_bench import PAGE, build_story_row, run_sums_audit
from fonds.audit.repair.reindex import reindex
from fonds.derivatives.documents import build_text_blob
from fonds.derivatives.fixity import build_fixity
from fonds.derivatives.sketch import build_bands, build_page_sketch, write_sketches
from fonds.model.rows import FixityRow, TextBandRow, TextSketchRow
from fonds.ports import Stores
from small_pipeline import Workplace

TEXT = " ".join(f"word{number}" for number in range(200))


def put_long_text(stores: Stores) -> TextSketchRow:
    row = build_page_sketch(build_story_row(), TEXT)
    stores.blobs.put([build_text_blob(PAGE, TEXT.encode())])
    write_sketches(stores.records, [row], [build_fixity(PAGE, "text", TEXT.encode())])
    return row


def test_a_missing_band_is_reported_and_rebuilt(place: Workplace, library: Stores) -> None:
    row = put_long_text(library)
    assert run_sums_audit(place, library).faults == []
    band = build_bands(row)[0]
    library.records.delete(TextBandRow, [(band.band, band.sha1hex)])
    (fault,) = run_sums_audit(place, library).faults
    assert (fault.subject, "text_band" in fault.message) == (PAGE, True)
    assert reindex(library.records, library.blobs, library.index, lambda _: None).remade == 1
    assert run_sums_audit(place, library).faults == []


def test_a_missing_sketch_is_reported_and_rebuilt(place: Workplace, library: Stores) -> None:
    row = put_long_text(library)
    library.records.delete(TextSketchRow, [PAGE])
    library.records.delete(FixityRow, [(PAGE, TextSketchRow.TABLE)])
    (fault,) = run_sums_audit(place, library).faults
    assert (fault.subject, "text_sketch" in fault.message) == (PAGE, True)
    assert reindex(library.records, library.blobs, library.index, lambda _: None).remade == 1
    assert list(library.records.get(TextSketchRow, [PAGE])) == [row]
    assert run_sums_audit(place, library).faults == []


def test_an_altered_sketch_is_reported(place: Workplace, library: Stores) -> None:
    row = put_long_text(library)
    library.records.change(TextSketchRow, [PAGE], {"text_sha256hex": "0" * 64})
    (fault,) = run_sums_audit(place, library).faults
    assert "has changed since it was written" in fault.message
    assert row.sha1hex == fault.subject
