"""take_in: files named by tasks of other programs are recorded as captures or refused with a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fixtures.warcs import DATE, URL, http_response, revisit, warc_record
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.extract.mime import describe
from fonds.ingest.sources.task_lists import TaskPlaces
from fonds.ingest.steps.identify import IdentifyStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.take_in import TaskIntake
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import DONE, Reason, Verdict
from fonds.model.errors import DamagedInputError, PermanentError
from fonds.model.file import FileMeta, UnextractedPdf
from fonds.model.keys import encode_sha1_base32
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.model.step import Result
from fonds.model.task import Task
from fonds.stores.journal_table.cells import read_file
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, LATER, PAGE, PDF, PDF_MAX_BYTES, Bench, pdf_file

OTHER_PDF = PDF.replace(b"nothing", b"a little")


@pytest.fixture
def take_in(bench: Bench) -> Callable[..., TaskIntake]:
    def build(base: str = "", folder: str = "") -> TaskIntake:
        identify = IdentifyStep(bench.archive, describe, PDF_MAX_BYTES, 2_000)
        persist = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
        places = TaskPlaces(base, folder)

        def scan(path: str) -> Iterator[RecordHead | Damage]:
            with bench.archive.open(path) as stream:
                yield from read_heads(stream)

        return TaskIntake(
            bench.records, places, identify, persist, UnextractedPdf, lambda: LATER, scan=scan
        )

    return build


def build_task(capture: Capture, **changes: object) -> Task:
    task = Task(
        kind=PlaceKind.WARC,
        path=capture.place.path,
        offset=capture.place.offset,
        url=capture.url,
        datetime14="20200102030405",
        id="m1",
    )
    return replace(task, **changes)


def test_a_warc_record_becomes_a_file_and_a_capture(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    capture, _ = bench.in_warc(PDF, OTHER_PDF, mime="application/pdf")
    result = take_in(folder=str(bench.home))(build_task(capture))
    (work,) = result.items
    assert result.disposition is DONE
    assert isinstance(work, UnextractedPdf)
    assert (work.file, work.capture.id) == (pdf_file(), "m1")
    assert work.capture.datetime14 == "20200102030405"
    (row,) = bench.records.find(FileMetaRow)
    assert (row.sha1hex, row.capture_id) == (pdf_file().sha1, "m1")
    assert bench.cdx()["m1"].warc_offset == capture.place.offset
    assert "file:cdx" in bench.cells()[bytes.fromhex(pdf_file().sha1)]


def test_a_task_for_a_stored_capture_uses_that_capture(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    """Any task may name a WARC that is in the ledger, also outside its folder."""
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    take_in(folder=str(bench.home))(build_task(capture))
    (work,) = take_in()(build_task(capture, id="m2")).items
    assert isinstance(work, UnextractedPdf)
    assert work.capture.id == "m1"
    assert len(list(bench.records.find(CdxRow))) == 1


@pytest.mark.parametrize("datetime14", ["20200102030405", None])
def test_a_known_capture_is_neither_read_nor_recorded_again(
    bench: Bench, take_in: Callable[..., TaskIntake], datetime14: str | None
) -> None:
    """The same URL, time and SHA-1 are the same capture, whatever place the task states."""
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    take_in(folder=str(bench.home))(build_task(capture))
    place = Place(PlaceKind.PETABOX, "item/a.pdf")
    task = Task(
        PlaceKind.PETABOX, "a.pdf", item="item", url=capture.url, datetime14=datetime14,
        sha1hex=pdf_file().sha1, id="m2",
    )  # fmt: skip

    def read(_: Capture) -> Result:
        raise AssertionError("unexpected read")

    def find_file(sha1hex: str) -> FileMeta | None:
        key = build_row_key(sha1hex)
        return read_file(bench.table.get(JOURNAL, [key]).get(key, {}))

    step = replace(
        take_in(), identify=read, locate=lambda task: (place, task.address), find_file=find_file
    )
    (work,) = step(task).items
    assert isinstance(work, UnextractedPdf)
    assert (work.file, work.capture.id) == (pdf_file(), "m1")
    assert work.capture.place.offset == capture.place.offset
    assert [row.capture_id for row in bench.records.find(CdxRow)] == ["m1"]
    with pytest.raises(AssertionError, match="unexpected read"):
        step(replace(task, url="http://elsewhere.example/"))
    reading_step = replace(step, needs_reading=lambda work: work.file != pdf_file())
    (work,) = reading_step(replace(task, url="http://elsewhere.example/")).items
    assert isinstance(work, UnextractedPdf)
    assert work.file == pdf_file()
    assert [row.capture_id for row in bench.records.find(CdxRow)] == ["m1"]


def build_revisit(url: str, **headers: str) -> bytes:
    """Return a revisit record with these headers; `_` stands for `-`."""
    return warc_record(
        record_type="revisit",
        url=url,
        date="2024-05-06T00:00:00Z",
        content_type="application/http; msgtype=response",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


PDF_DIGEST = f"sha1:{encode_sha1_base32(bytes.fromhex(pdf_file().sha1))}"


@pytest.mark.parametrize(
    "headers",
    [
        {"WARC_Refers_To_Target_URI": URL, "WARC_Refers_To_Date": DATE},
        {"WARC_Refers_To": "<urn:uuid:11111111-0c1d-4ad2-b8a8-6a0cb2a3c1d1>"},
        {"WARC_Payload_Digest": PDF_DIGEST},
    ],
)
@pytest.mark.parametrize("is_known", [False, True])
def test_a_task_for_a_revisit_reads_the_original_response(
    bench: Bench, take_in: Callable[..., TaskIntake], headers: dict[str, str], is_known: bool
) -> None:
    """The bytes of a revisit are those of the response in the same WARC."""
    pdf = {"headers": (("Content-Type", "application/pdf"),)}
    response = (
        http_response(PDF, **pdf)
        .replace(b"9d4f5f4e-", b"11111111-")
        .replace(
            b"\r\nContent-Length",
            f"\r\nWARC-Payload-Digest: {PDF_DIGEST}\r\nContent-Length".encode(),
            1,
        )
    )
    other_response = http_response(OTHER_PDF, url="http://example.org/other.pdf", **pdf)
    _, original, revisited = bench.in_records(
        other_response,
        response,
        build_revisit("http://example.org/again.pdf", **headers),
        mime="application/pdf",
    )
    step = take_in(folder=str(bench.home))
    if is_known:
        step(build_task(original, id="m0", url=URL, datetime14="20240305060708"))
    result = step(build_task(revisited, sha1hex=pdf_file().sha1))
    (work,) = result.items
    assert isinstance(work, UnextractedPdf)
    assert work.file == pdf_file()
    assert (work.capture.url, work.capture.datetime14) == (URL, "20240305060708")
    assert work.capture.id == ("m0" if is_known else "m1")
    assert bench.archive.read(work.capture.place, pdf_file().sha1).body == PDF
    rows = {row.warc_offset: row.mimetype for row in bench.records.find(CdxRow)}
    assert rows[original.place.offset] == "application/pdf"
    if is_known:
        assert rows[revisited.place.offset] == "warc/revisit"
    (second_work,) = step(build_task(revisited, id="m2")).items
    assert isinstance(second_work, UnextractedPdf)
    assert second_work.file == pdf_file()


def test_a_revisit_of_an_unknown_response_is_refused(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    (revisited,) = bench.in_records(revisit(), mime="application/pdf")
    result = take_in(folder=str(bench.home))(build_task(revisited))
    assert (result.disposition.reason, result.items) == (Reason.REVISIT, ())


def test_another_capture_of_a_known_file_is_passed_on_too(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    (first,) = bench.in_warc(PDF, mime="application/pdf")
    (second,) = bench.in_warc(PDF, mime="application/pdf")
    step = take_in(folder=str(bench.home))
    step(build_task(first))
    (work,) = step(build_task(second, id="m2")).items
    assert isinstance(work, UnextractedPdf)
    assert sorted(bench.cdx()) == ["m1", "m2"]


def test_a_loose_file_is_archived_with_the_time_of_its_task(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    (bench.home / "a.pdf").write_bytes(PDF)
    entered_at = LATER - timedelta(hours=3)
    row = EntryRow("m1", "library", "message", "", "a.pdf", None, "a.pdf", "default", entered_at)
    bench.records.ledger.enter([], [row], ["extract_pdf"])
    task = Task(PlaceKind.FILE, "a.pdf", id="m1")
    work, body = take_in(folder=str(bench.home))(task).items
    assert isinstance(work, UnextractedPdf)
    assert work.capture.captured_at == entered_at
    assert work.capture.url == (bench.home / "a.pdf").as_uri()
    assert type(body).__name__ == "UnarchivedBody"


def test_bytes_that_do_not_match_the_sha1_are_not_recorded(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    (bench.home / "a.pdf").write_bytes(PDF)
    step = take_in(folder=str(bench.home))
    for task in (build_task(capture), Task(PlaceKind.FILE, "a.pdf", id="m1")):
        with pytest.raises(
            DamagedInputError, match=f"{pdf_file().sha1} instead of {'ab' * 20}"
        ) as raised:
            step(replace(task, sha1hex="ab" * 20))
        assert raised.value.reason is Reason.DAMAGED_RECORD
    assert list(bench.records.find(FileMetaRow)) == []
    assert bench.cells() == {}


def test_a_page_instead_of_a_pdf_is_dropped_and_not_recorded(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    (capture,) = bench.in_warc(PAGE)
    result = take_in(folder=str(bench.home))(build_task(capture))
    assert (result.disposition.verdict, result.items) == (Verdict.DROPPED, ())
    assert result.disposition.reason is Reason.UNSUPPORTED_TYPE
    assert list(bench.records.find(FileMetaRow)) == []


def test_internal_work_of_others_is_accepted_only_for_known_files(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    """The attack: all our fields, our header, and a place that other programs must not name."""
    secret = bench.write_file(PDF, "application/pdf")
    forged = UnextractedPdf(secret, pdf_file())
    with pytest.raises(DamagedInputError, match="is unknown") as raised:
        take_in()(forged)
    assert raised.value.reason is Reason.BAD_MESSAGE
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    take_in(folder=str(bench.home))(build_task(capture))
    assert take_in()(forged).items == (forged,)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../outside.pdf", "link.pdf", "a/../../outside.pdf", "file:///etc/passwd",
     "http://169.254.169.254/latest", "nul\x00.pdf", "x" * 5_000, "~root/.ssh/id_rsa", "/proc/self/mem"],
)  # fmt: skip
def test_no_file_outside_the_task_folder_is_read(tmp_path: Path, name: str) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (tmp_path / "outside.pdf").write_bytes(PDF)
    (allowed / "link.pdf").symlink_to(tmp_path / "outside.pdf")
    local, warc = Task(PlaceKind.FILE, name), Task(PlaceKind.WARC, name, url="http://e.org/")
    for task in (local, warc):
        with pytest.raises(PermanentError, match="task_folder") as raised:
            TaskPlaces("", "")(task)
        assert raised.value.reason is Reason.UNREADABLE_SOURCE
        try:
            place, _ = TaskPlaces("", str(allowed))(task)
        except PermanentError as error:
            assert error.reason is Reason.UNREADABLE_SOURCE  # noqa: PT017 (refused, or below)
        else:
            assert Path(place.path).is_relative_to(allowed)


def test_a_warc_is_read_from_base_or_folder_and_otherwise_replayed(
    tmp_path: Path,
) -> None:
    task = Task(
        PlaceKind.WARC, "/i/a.warc.gz", 5, 9, url="http://e.org/", datetime14="20200102030405"
    )
    warc_place = Place(PlaceKind.WARC, "https://warcs.example/i/a.warc.gz", 5, 9)
    assert TaskPlaces("https://warcs.example", "")(task) == (warc_place, "http://e.org/")
    replayed = Place(PlaceKind.REPLAY, "20200102030405/http://e.org/")
    assert TaskPlaces("", "")(task)[0] == replayed
    assert TaskPlaces("", str(tmp_path))(replace(task, path="i/a.warc.gz"))[0] == replayed
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "a.warc.gz").write_bytes(b"")
    place, _ = TaskPlaces("", str(tmp_path))(replace(task, path="i/a.warc.gz"))
    assert place == Place(PlaceKind.WARC, str((tmp_path / "i" / "a.warc.gz").resolve()), 5, 9)


def test_a_base_at_a_private_address_is_refused_by_default(
    bench: Bench, take_in: Callable[..., TaskIntake]
) -> None:
    capture = bench.write_file()
    task = replace(build_task(capture), path="a.warc.gz")
    with pytest.raises(PermanentError, match="private_addresses") as raised:
        take_in(base="http://127.0.0.1:9/warcs")(task)
    assert raised.value.reason is Reason.UNREADABLE_SOURCE
