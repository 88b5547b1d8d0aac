"""`f:c` of a file: the count of its captures and the capture that revisits refer to."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from archive_bodies import create_archive_body
from fixtures.archives import list_files
from fonds.archive.capture_rank import encode_record
from fonds.archive.cdx import CdxLine
from fonds.archive.table_places import (
    build_cdx_row,
    build_first_cells,
    build_indexed_key,
    compute_indexed_capture_id,
)
from fonds.ingest.bulk.index_job import CaptureWriter
from fonds.ingest.steps.persist_file import (
    PersistFileStep,
    update_capture_counts,
)
from fonds.model.archive import OriginalCapture
from fonds.model.capture import Place, PlaceKind
from fonds.model.keys import encode_sha1_base32
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    Location,
    parse_first_archived,
    read_first_seen,
    read_location,
)
from fonds.stores.journal_table.keys import build_old_key, build_row_key
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.sqlite import SqliteTable
from fonds.urls.surt import build_surt
from step_bench import JOURNAL, LATER, PAGE, Bench, identify_capture, page_file
from unit.ingest.test_archive_body import list_record_heads, write_unarchived

KEY = page_file().sha1


def persist(bench: Bench) -> PersistFileStep:
    return PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)


def get_count(bench: Bench) -> int:
    return int(
        json.loads(bench.table.get(JOURNAL, [build_row_key(KEY)])[build_row_key(KEY)][F_C])["c"]
    )


def test_each_capture_of_a_file_counts_once_even_if_recorded_twice(bench: Bench) -> None:
    captures = bench.in_warc(PAGE, PAGE, PAGE)
    for capture in (captures[0], captures[1], captures[1], captures[2], captures[0]):
        persist(bench)([identify_capture(capture)])
    assert get_count(bench) == 3


def test_a_revisit_is_counted_and_the_rest_of_the_cell_is_kept(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    persist(bench)([identify_capture(capture)])
    before = json.loads(bench.table.get(JOURNAL, [build_row_key(KEY)])[build_row_key(KEY)][F_C])
    revisit = replace(
        capture, id="revisit", place=replace(capture.place, offset=9_999), record_type="revisit"
    )
    bench.records.put([build_cdx_row(revisit, page_file(), revisit.place, LATER)])
    update_capture_counts(bench.table, bench.records, JOURNAL, [KEY, "ab" * 20])
    after = json.loads(bench.table.get(JOURNAL, [build_row_key(KEY)])[build_row_key(KEY)][F_C])
    assert after == {**before, "c": 2}


def test_a_repeat_is_archived_as_a_counted_revisit_of_the_capture_in_f_c(bench: Bench) -> None:
    step = create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )
    first = write_unarchived(bench)
    step([first])
    cell = json.loads(bench.table.get(JOURNAL, [build_row_key(KEY)])[build_row_key(KEY)][F_C])
    foreign_cell = {**cell, "u": "http://first.example/", "d": "2011-02-03T04:05:06Z"}
    bench.table.put(JOURNAL, [(build_row_key(KEY), {F_C: json.dumps(foreign_cell).encode()})])
    repeat = write_unarchived(bench, repeat_of=first.capture.id)
    step([repeat])
    step([repeat])
    assert [head.type for head in list_record_heads(bench)] == ["resource", "revisit"]
    warc_bytes = b"".join(
        gzip.decompress(path.read_bytes()) for path in list_files(bench.home, ".warc.gz")
    )
    assert b"WARC-Refers-To-Target-URI: http://first.example/\r\n" in warc_bytes
    assert b"WARC-Refers-To-Date: 2011-02-03T04:05:06" in warc_bytes
    assert get_count(bench) == 2


def test_archiving_the_first_capture_after_its_repeat_counts_it_once(bench: Bench) -> None:
    step = create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )
    first = write_unarchived(bench)
    step([write_unarchived(bench, repeat_of=first.capture.id)])
    step([first])
    assert get_count(bench) == 2


def test_a_count_overtaken_while_it_is_written_is_computed_again(bench: Bench) -> None:
    captures = bench.in_warc(PAGE, PAGE, PAGE)
    persist(bench)([identify_capture(captures[0])])
    other_rows = [
        build_cdx_row(capture, page_file(), capture.place, LATER) for capture in captures[1:]
    ]
    bench.records.put(other_rows[:1])

    class OutrunTable:
        """A table where another process adds a capture and writes first, before each of the first writes."""

        get = bench.table.get

        def put(self, table: str, rows: Any, where_equal: dict[bytes, bytes]) -> None:
            if other_rows[1:]:
                bench.records.put([other_rows.pop()])
                update_capture_counts(bench.table, bench.records, JOURNAL, [KEY])
            bench.table.put(table, rows, where_equal=where_equal)

    update_capture_counts(OutrunTable(), bench.records, JOURNAL, [KEY])  # type: ignore[arg-type]
    assert get_count(bench) == 3


def test_a_place_written_during_counting_is_kept(bench: Bench) -> None:
    """Two pipelines can archive one capture at the same time; row and cell must state the same place."""
    capture, later = bench.in_warc(PAGE, PAGE)
    persist(bench)([identify_capture(capture)])
    bench.records.put([build_cdx_row(later, page_file(), later.place, LATER)])
    foreign_cells = build_first_cells(
        capture, replace(capture.place, path="another.warc.gz", offset=77)
    )

    class OvertakenTable:
        """A table where another process writes the place of the file just before the count is written."""

        get = bench.table.get

        def put(self, table: str, rows: Any, where_equal: dict[bytes, bytes]) -> None:
            nonlocal foreign_cells
            bench.table.put(JOURNAL, [(build_row_key(KEY), foreign_cells)])
            foreign_cells = {}
            bench.table.put(table, rows, where_equal=where_equal)

    update_capture_counts(OvertakenTable(), bench.records, JOURNAL, [KEY])  # type: ignore[arg-type]
    cells = bench.table.get(JOURNAL, [build_row_key(KEY)])[build_row_key(KEY)]
    place, first_seen = read_location(cells), read_first_seen(cells)
    assert place is not None
    assert first_seen is not None
    assert (place.warc, place.offset, first_seen.offset) == ("another.warc.gz", 77, 77)
    assert get_count(bench) == 2


def test_an_indexed_capture_is_kept_next_to_the_first_capture(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    key = build_surt(capture.url)
    indexed_location = Location(key, capture.url, "20110203040506", "ITEM/a.warc.gz", 7, None)
    place = Place(
        PlaceKind.WARC, indexed_location.warc, indexed_location.offset, indexed_location.size_bytes
    )
    indexed = replace(capture, captured_at=datetime(2011, 2, 3, 4, 5, 6, tzinfo=UTC))
    bench.table.put(JOURNAL, [(build_row_key(KEY), build_first_cells(indexed, place))])
    persist(bench)([identify_capture(capture)])
    rows = dict(bench.table.scan(JOURNAL, build_row_key(KEY)))
    assert len(rows) == 2
    (later,) = [cells for key, cells in rows.items() if key != build_row_key(KEY)]
    assert read_location(later) == indexed_location
    assert build_indexed_key(KEY, later) in rows
    assert read_location(rows[build_row_key(KEY)]) != indexed_location
    assert compute_indexed_capture_id(KEY, indexed_location).startswith("cdx-")


def test_an_unreadable_f_c_cell_of_another_program_gives_no_first_capture() -> None:
    for cell in (b"junk", b'{"u":"u","d":"yesterday"}', b"{}"):
        assert parse_first_archived({F_C: cell, FILE_CDX: b""}) is None
    moment = datetime(2017, 10, 27, 22, 21, 13, tzinfo=UTC)
    assert parse_first_archived({F_C: b'{"u":"u","d":"2017-10-27T22:21:13"}'}) == OriginalCapture(
        "u", moment
    )
    junk = b'{"u":"u","d":"2017-10-27T22:21:13","i":"urn:uuid:1"}'
    assert parse_first_archived({F_C: junk}) == OriginalCapture("u", moment)


NOTE = {
    "u": "http://first.example/page",
    "d": "2011-01-02T03:04:05Z",
    "f": "OLD.warc.gz",
    "o": 5,
    "c": 7,
    "i": "urn:uuid:1",
}


def get_note(bench: Bench, key: bytes) -> dict[str, Any]:
    return dict(json.loads(bench.table.get(JOURNAL, [key])[key][F_C]))


def backfill(bench: Bench, *warcs: str) -> None:
    """Write the lines of an index that names these WARCs, each at byte 3."""
    lines = [
        encode_record(
            CdxLine(
                surt="example,b)/", datetime14="20200102030405", url="http://b.example/",
                mime="text/html", status=200, digest=encode_sha1_base32(bytes.fromhex(KEY)),
                size_bytes=10, offset=3, filename=warc,
            ),
            "text/html",
        )
        for warc in warcs
    ]  # fmt: skip
    list(
        CaptureWriter(
            lambda: SqliteTable(bench.home / "table.sqlite"),
            lambda: open_sqlite(bench.home / "records.sqlite"),
            JOURNAL,
            LATER,
        )(0, iter(lines))
    )


def check_note(bench: Bench, key: bytes, count: int) -> None:
    assert get_note(bench, key) == {**NOTE, "c": count}


def test_the_f_c_cell_of_a_crawler_is_kept_when_its_file_is_ingested(bench: Bench) -> None:
    bench.table.put(JOURNAL, [(build_row_key(KEY), {F_C: json.dumps(NOTE).encode()})])
    first, second = bench.in_warc(PAGE, PAGE)
    for capture, count in ((first, 8), (first, 8), (second, 9), (first, 9)):
        persist(bench)([identify_capture(capture)])
        check_note(bench, build_row_key(KEY), count)


def test_the_f_c_cell_of_a_crawler_is_kept_when_its_file_is_archived(bench: Bench) -> None:
    bench.table.put(JOURNAL, [(build_row_key(KEY), {F_C: json.dumps(NOTE).encode()})])
    item = write_unarchived(bench)
    copy = PersistFileStep(bench.table, bench.records, JOURNAL, True, lambda: LATER)
    copy([identify_capture(item.capture)])
    step = create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )
    step([item])
    step([item])
    check_note(bench, build_row_key(KEY), 8)


def test_the_f_c_cell_of_a_crawler_is_kept_when_an_index_lists_its_file(bench: Bench) -> None:
    bench.table.put(JOURNAL, [(build_row_key(KEY), {F_C: json.dumps(NOTE).encode()})])
    backfill(bench, "a/x.warc.gz", "a/y.warc.gz")
    check_note(bench, build_row_key(KEY), 9)
    backfill(bench, "a/x.warc.gz", "a/y.warc.gz")
    check_note(bench, build_row_key(KEY), 9)


def test_a_capture_counted_by_a_crawler_is_counted_once(bench: Bench) -> None:
    note = {**NOTE, "f": "x.warc.gz", "o": 3}
    bench.table.put(JOURNAL, [(build_row_key(KEY), {F_C: json.dumps(note).encode()})])
    backfill(bench, "a/x.warc.gz")
    assert get_note(bench, build_row_key(KEY)) == note


def test_a_row_written_by_heritrix_is_used_for_the_file(bench: Bench) -> None:
    key = build_old_key(KEY)
    bench.table.put(JOURNAL, [(key, {F_C: json.dumps(NOTE).encode()})])
    for capture in bench.in_warc(PAGE, PAGE):
        persist(bench)([identify_capture(capture)])
    check_note(bench, build_row_key(KEY), 9)
    check_note(bench, key, 9)
