"""archive_body: stores each body once in our WARCs, its place in rows and cells, and repeats as revisits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest

from archive_bodies import create_archive_body, create_archive_leases
from fixtures.archives import list_files, read_index
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.ingest.steps import archive_body
from fonds.ingest.steps.archive_body import (
    LEASE_S,
    ArchiveBodyStep,
    name_lease,
)
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.isolation.process_identity import identify
from fonds.leases.lease import LeaseConflictError
from fonds.model.archive import ArchivedRecord, ArchiveEntry
from fonds.model.capture import REVISIT_MIME, Capture, Place, PlaceKind
from fonds.model.disposition import DONE, Reason, Verdict
from fonds.model.errors import DamagedInputError, PermanentError
from fonds.model.rows import LeaseRow
from fonds.model.story import ContentMetadata, Story, UnarchivedBody
from fonds.ports import Archive
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key
from step_bench import (
    JOURNAL,
    LATER,
    OTHER_PAGE,
    PAGE,
    PDF,
    Bench,
    identify_capture,
    page_file,
    pdf_file,
)

KEY = page_file().sha1
DEAD_HOLDER = f"{identify(1).rsplit('/', 2)[0]}/4194399/1/ab"


@pytest.fixture
def step(bench: Bench) -> ArchiveBodyStep:
    return create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )


def write_unarchived(bench: Bench, body: bytes = PAGE, **changes: object) -> UnarchivedBody:
    """Return a loose page that is recorded in the ledger."""
    capture = bench.write_file(body)
    bench.enter(capture)
    return UnarchivedBody(capture, page_file(body), **changes)  # type: ignore[arg-type]


def get_place(bench: Bench, capture: Capture) -> Place:
    row = bench.cdx()[capture.id]
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def list_record_heads(bench: Bench) -> list[RecordHead]:
    """Return the records in our WARC files, without warcinfo."""
    bench.archive.finish()
    heads_read = []
    for path in list_files(bench.home, ".warc.gz"):
        with path.open("rb") as stream:
            heads_read += [head for head in read_heads(stream) if head.type != "warcinfo"]
    return heads_read


def test_a_loose_body_is_readable_from_its_recorded_place(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item = write_unarchived(bench)
    (result,) = step([item])
    assert (result.disposition, result.items) == (DONE, ())
    Path(item.capture.place.path).unlink()
    payload = bench.archive.read(get_place(bench, item.capture))
    assert (payload.body, payload.http) == (PAGE, None)
    row = bench.cdx()[item.capture.id]
    assert (row.sha1hex, row.mimetype, row.url) == (KEY, "text/html", item.capture.url)
    assert "/" not in row.warc_path
    assert [head.type for head in list_record_heads(bench)] == ["resource"]


def test_archiving_adds_the_place_to_the_row_of_the_file(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item = write_unarchived(bench)
    persist = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    persist([identify_capture(item.capture)])
    step([item])
    cells = bench.cells()[build_row_key(KEY)]
    place = get_place(bench, item.capture)
    assert set(cells) == {"file:size", "file:mime", "file:meta", "file:cdx", "f:c"}
    cdx = json.loads(cells["file:cdx"])
    assert all(isinstance(value, str) for value in cdx.values())
    assert (cdx["warc"], cdx["offset"]) == (place.path, str(place.offset))
    assert cdx["c_size"] == str(place.size_bytes)
    assert json.loads(cells["f:c"])["f"] == place.path.rpartition("/")[2]


def test_archiving_twice_writes_one_record(step: ArchiveBodyStep, bench: Bench) -> None:
    item = write_unarchived(bench)
    step([item])
    before = (bench.cdx(), bench.cells())
    assert [result.disposition for result in step([item])] == [DONE]
    assert (bench.cdx(), bench.cells()) == before
    assert len(list_record_heads(bench)) == 1


def test_a_message_repeated_in_one_batch_is_written_once(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item = write_unarchived(bench)
    assert len(step([item, item])) == 2
    assert len(list_record_heads(bench)) == 1


def test_a_capture_leased_by_another_process_is_deferred(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item, other_item = write_unarchived(bench), write_unarchived(bench, OTHER_PAGE)
    other_leases = create_archive_leases(bench.records)
    with other_leases.acquire_free([name_lease(item.capture.id)]) as leases:
        assert len(leases) == 1
        dispositions = [result.disposition for result in step([item, other_item])]
    assert (dispositions[0].verdict, dispositions[0].reason, dispositions[1]) == (
        Verdict.DEFERRED,
        Reason.NOT_YET,
        DONE,
    )
    assert set(bench.cdx()) == {other_item.capture.id}
    assert [result.disposition for result in step([item])] == [DONE]
    assert len(list_record_heads(bench)) == 2


def test_concurrent_steps_write_one_record_for_one_capture(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item, barrier = write_unarchived(bench), Barrier(4)

    def archive(_: int) -> None:
        barrier.wait(10)
        while step([item])[0].disposition != DONE:
            pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(archive, range(4)))
    assert len(list_record_heads(bench)) == 1
    assert bench.records.count(LeaseRow)[()] == 0


def test_the_lease_of_a_dead_process_is_taken_over(step: ArchiveBodyStep, bench: Bench) -> None:
    item = write_unarchived(bench)
    bench.records.put([LeaseRow(name_lease(item.capture.id), DEAD_HOLDER, 7)])
    assert [result.disposition for result in step([item])] == [DONE]
    assert bench.records.count(LeaseRow)[()] == 0


def test_a_lease_that_is_not_renewed_is_taken_over_when_it_expires(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item, now_s = write_unarchived(bench), [0.0]
    bench.records.put([LeaseRow(name_lease(item.capture.id), "host/boot/namespace/1/1/a", 7)])
    step = replace(step, leases=create_archive_leases(bench.records, lambda: now_s[0]))
    for now_s[0] in (0.0, LEASE_S - 1.0):
        assert step([item])[0].disposition.reason is Reason.NOT_YET
    now_s[0] = LEASE_S
    assert [result.disposition for result in step([item])] == [DONE]
    assert bench.records.count(LeaseRow)[()] == 0


def test_a_step_that_lost_its_lease_records_no_place(step: ArchiveBodyStep, bench: Bench) -> None:
    """Its lease expired while it was writing to the WARC."""
    item, now_s = write_unarchived(bench), [0.0]

    @dataclass
    class SlowArchive:
        archive: Archive

        def __getattr__(self, name: str) -> object:
            return getattr(self.archive, name)

        def write(self, entries: Sequence[ArchiveEntry]) -> Sequence[ArchivedRecord]:
            now_s[0] += LEASE_S
            bench.records.put([LeaseRow(name_lease(item.capture.id), "another", 7)])
            return self.archive.write(entries)

    leases = create_archive_leases(bench.records, lambda: now_s[0])
    slow = replace(step, archive=SlowArchive(bench.archive), leases=leases)  # type: ignore[arg-type]
    with pytest.raises(LeaseConflictError):
        slow([item])
    assert bench.cdx() == {}
    assert [row.lease_holder for row in bench.records.find(LeaseRow)] == ["another"]


def test_a_failed_batch_releases_its_leases(step: ArchiveBodyStep, bench: Bench) -> None:
    item = write_unarchived(bench)
    Path(item.capture.place.path).rename(bench.home / "elsewhere")
    with pytest.raises(PermanentError):
        step([item])
    Path(bench.home / "elsewhere").rename(item.capture.place.path)
    assert [result.disposition for result in step([item])] == [DONE]


def test_only_new_bodies_of_a_batch_are_written(step: ArchiveBodyStep, bench: Bench) -> None:
    first, second = write_unarchived(bench), write_unarchived(bench, OTHER_PAGE)
    step([first])
    step([first, second])
    assert [head.url for head in list_record_heads(bench)] == [
        first.capture.url,
        second.capture.url,
    ]
    assert bench.cdx().keys() == {first.capture.id, second.capture.id}


def test_a_copied_response_keeps_its_http_headers(step: ArchiveBodyStep, bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE, headers=(("Content-Type", "text/html"), ("Server", "old")))
    bench.enter(capture)
    step([UnarchivedBody(capture, page_file())])
    payload = bench.archive.read(get_place(bench, capture))
    assert payload.http is not None
    assert (payload.http.status, payload.http.get("server"), payload.body) == (200, "old", PAGE)
    assert [head.type for head in list_record_heads(bench)] == ["response"]


def test_a_story_is_written_as_a_metadata_record(step: ArchiveBodyStep, bench: Bench) -> None:
    story = Story(content_metadata=ContentMetadata(article_title="A page"))
    step([write_unarchived(bench, story=story)])
    assert [head.type for head in list_record_heads(bench)] == ["resource", "metadata"]


def test_a_loose_repeat_becomes_a_revisit_of_the_first_capture(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    first = write_unarchived(bench)
    second = write_unarchived(bench, repeat_of=first.capture.id)
    step([first, second])
    assert [head.type for head in list_record_heads(bench)] == ["resource", "revisit"]
    rows = bench.cdx()
    assert rows[first.capture.id].mimetype == "text/html"
    assert rows[second.capture.id].mimetype == REVISIT_MIME
    assert {row.sha1hex for row in rows.values()} == {KEY}
    cells = bench.cells()
    assert list(cells) == [build_row_key(KEY), build_alternate_key(KEY, second.capture.id)]
    assert set(cells[build_alternate_key(KEY, second.capture.id)]) == {"file:cdx"}
    (path,) = list_files(bench.home, ".warc.gz")
    assert b"WARC-Refers-To-Target-URI: " + first.capture.url.encode() in unpack(path)
    assert [line.mime for line in read_index(list_files(bench.home, ".cdxj")[0])][
        -1
    ] == REVISIT_MIME


def unpack(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_a_repeat_of_an_unknown_capture_is_written_in_full(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item = write_unarchived(bench, repeat_of="never entered")
    step([item])
    assert bench.cdx()[item.capture.id].mimetype == "text/html"
    assert bench.archive.read(get_place(bench, item.capture)).body == PAGE


@dataclass
class CountingArchive:
    """An archive that records the total size of the bodies in each write."""

    real: Archive
    writes_bytes: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        self.writes_bytes.append(sum(len(entry.body) for entry in entries))
        return self.real.write(entries)


def test_writes_never_exceed_the_size_limit_of_a_batch(
    step: ArchiveBodyStep, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_body, "BATCH_MAX_BYTES", 1000)
    sizes = (400, 600, 1, 5000, 300, 300, 300, 300)
    items = [
        write_unarchived(bench, PAGE.ljust(size, b".") + b"%d" % n) for n, size in enumerate(sizes)
    ]
    items = [
        replace(loose, file=replace(loose.file, size=size))
        for loose, size in zip(items, sizes, strict=True)
    ]
    archive = CountingArchive(bench.archive)
    counted = replace(step, archive=archive)
    assert len(counted(items)) == len(items)
    assert [round(size, -2) for size in archive.writes_bytes] == [1000, 100, 5000, 900, 300]
    assert [head.url for head in list_record_heads(bench)] == [item.capture.url for item in items]


def test_a_missing_body_is_reported_by_path_and_nothing_is_recorded(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    good, missing = write_unarchived(bench), write_unarchived(bench, OTHER_PAGE)
    Path(missing.capture.place.path).unlink()
    with pytest.raises(PermanentError, match=missing.capture.place.path) as caught:
        step([good, missing])
    assert caught.value.reason is Reason.MISSING_SOURCE
    assert (bench.cdx(), bench.cells()) == ({}, {})
    step([good])
    assert len(list_record_heads(bench)) == 1


def test_bytes_that_changed_since_identification_are_not_archived(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    item = write_unarchived(bench)
    Path(item.capture.place.path).write_bytes(OTHER_PAGE)
    with pytest.raises(DamagedInputError, match=f"no longer match {KEY}"):
        step([item])
    assert bench.cdx() == {}


def test_a_pdf_keeps_its_mime_type(step: ArchiveBodyStep, bench: Bench) -> None:
    capture = bench.write_file(PDF, "application/pdf")
    bench.enter(capture)
    step([UnarchivedBody(capture, pdf_file())])
    assert bench.cdx()[capture.id].mimetype == "application/pdf"


def test_an_empty_batch_creates_no_archive(step: ArchiveBodyStep, bench: Bench) -> None:
    assert step([]) == []
    assert not (bench.home / "archive").exists()


def test_warc_names_start_with_the_prefix_of_the_flavour(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    old = write_unarchived(bench)
    year = replace(old.capture, captured_at=datetime(2011, 5, 6, tzinfo=UTC))
    replace(step, prefix="mchist{YYYY}")([replace(old, capture=year)])
    (name,) = (path.name for path in list_files(bench.home, ".warc.gz"))
    assert name.startswith("mchist2011-")
    assert len(list_record_heads(bench)) == 1


def test_a_row_has_the_status_of_its_record(bench: Bench, step: ArchiveBodyStep) -> None:
    """The status that the capture states is ignored; the record may have none."""
    loose = write_unarchived(bench)
    step([loose])
    row = bench.cdx()[loose.capture.id]
    assert row.status is None
    copied = replace(loose.capture, id="copied", place=get_place(bench, loose.capture), status=200)
    bench.enter(copied)
    step([replace(loose, capture=copied)])
    assert bench.cdx()["copied"].status is None
