"""Promises of every archive."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest

from fixtures import warcs
from fixtures.archives import (
    BODY_MAX_BYTES,
    build_entry,
    build_metadata,
    get_read_error,
    list_files,
    read_index,
)
from fonds.archive.store.volume import get_host_name
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.model.archive import OriginalCapture
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError
from fonds.ports import Archive
from read_only import obey_file_modes

ON_DISKS = (PlaceKind.FILE, PlaceKind.WARC, PlaceKind.ZIP)
NO_ARCHIVE = pytest.mark.parametrize(
    ("kind", "path"),
    [(PlaceKind.REPLAY, "20200101000000/http://example.org/"), (PlaceKind.PETABOX, "item/a.pdf")],
)


# Writing


def test_a_written_body_is_readable_at_once(archive: Archive) -> None:
    entries = [build_entry(n, body=b"%d" % n * 100) for n in range(3)]
    archived = archive.write(entries)
    assert [record.capture_id for record in archived] == [entry.capture_id for entry in entries]
    for record, written_entry in zip(archived, entries, strict=True):
        payload = archive.read(record.place)
        assert payload.body == written_entry.body
        assert payload.size_bytes == record.place.size_bytes
        assert payload.http is not None


def test_a_written_record_has_the_returned_id(archive: Archive) -> None:
    entries = [build_entry(n, metadata_json=build_metadata(n)) for n in range(7)]
    entries[2] = replace(
        entries[2], original=OriginalCapture(entries[1].url, entries[1].captured_at)
    )
    archived = archive.write(entries)

    def read_ids() -> list[str]:
        return [archive.read(record.place).warc_headers["WARC-Record-ID"] for record in archived]

    returned_ids = [f"<{record.record_id}>" for record in archived]
    assert len(set(returned_ids)) == len(entries)
    assert read_ids() == returned_ids
    archive.finish()
    assert read_ids() == returned_ids


def test_a_place_in_an_own_warc_has_its_bare_file_name(archive: Archive, tmp_path: Path) -> None:
    (archived,) = archive.write([build_entry()])
    archive.finish()
    assert archived.place.kind is PlaceKind.WARC
    assert [path.name for path in list_files(tmp_path, ".warc.gz")] == [archived.place.path]


def test_an_open_warc_has_its_final_name_and_a_marker_file(
    archive: Archive, tmp_path: Path
) -> None:
    archive.write([build_entry()])
    (path,) = list_files(tmp_path, ".warc.gz")
    assert path.name.startswith("fonds-20")
    assert len(list_files(tmp_path, ".warc.gz.open")) == 1
    archive.finish()
    assert [file.name for file in list_files(tmp_path, ".warc.gz")] == [path.name]
    assert list_files(tmp_path, ".open") == []


def test_finish_writes_a_sorted_index_next_to_the_warc(archive: Archive, tmp_path: Path) -> None:
    archived = archive.write(
        [build_entry(3), build_entry(1), build_entry(2, http=None, mime="application/pdf")]
    )
    archive.finish()
    (path,) = list_files(tmp_path, ".cdxj")
    assert path.read_bytes().splitlines() == sorted(path.read_bytes().splitlines())
    lines = read_index(path)
    assert [line.url[-1] for line in lines] == ["1", "2", "3"]
    by_url = {line.url: line for line in lines}
    for record, number in zip(archived, (3, 1, 2), strict=True):
        line = by_url[f"http://example.org/{number}"]
        assert (line.offset, line.size_bytes) == (record.place.offset, record.place.size_bytes)
        assert line.filename == Path(record.place.path).name


def test_finishing_twice_or_without_an_open_warc_does_nothing(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archive = open_archive(tmp_path)
    archive.finish()
    assert list(tmp_path.iterdir()) == []
    archive.write([build_entry()])
    archive.finish()
    archive.finish()
    assert len(list_files(tmp_path, ".cdxj")) == 1


def test_an_empty_write_creates_no_file(archive: Archive, tmp_path: Path) -> None:
    assert archive.write([]) == []
    assert list(tmp_path.iterdir()) == []


def test_a_warc_is_closed_at_the_maximum_of_stories(archive: Archive, tmp_path: Path) -> None:
    archived = archive.write([build_entry(n) for n in range(12)])
    assert len(list_files(tmp_path, ".warc.gz")) == 3
    assert list_files(tmp_path, ".cdxj") == [], "the caller may not have stored the rows yet"
    archive.write([build_entry(12)])
    assert len(list_files(tmp_path, ".cdxj")) == 2
    archive.finish()
    assert sorted(len(read_index(path)) for path in list_files(tmp_path, ".cdxj")) == [3, 5, 5]
    for number, record in enumerate(archived):
        assert archive.read(record.place).body == b"<html>%d</html>" % number


def test_a_warc_is_closed_at_the_maximum_size(archive: Archive, tmp_path: Path) -> None:
    archive.write([build_entry(n, body=os.urandom(60_000)) for n in range(3)])
    assert len(list_files(tmp_path, ".warc.gz")) == 3


def test_repeats_are_revisits_and_metadata_are_records(archive: Archive, tmp_path: Path) -> None:
    first = build_entry(1, metadata_json=build_metadata(1))
    repeat = build_entry(2, body=first.body, original=OriginalCapture(first.url, first.captured_at))
    archived = archive.write([first, repeat])
    assert archive.read(archived[1].place).body == b""
    archive.finish()
    (path,) = list_files(tmp_path, ".warc.gz")
    with path.open("rb") as stream:
        types = [head.type for head in read_heads(stream) if isinstance(head, RecordHead)]
    assert types == ["warcinfo", "response", "metadata", "revisit"]
    assert {line.mime for line in read_index(list_files(tmp_path, ".cdxj")[0])} == {
        "text/html",
        "warc/revisit",
    }


def test_concurrent_threads_write_and_read(archive: Archive) -> None:
    def work(number: int) -> bool:
        (record,) = archive.write([build_entry(number, body=b"body %d" % number)])
        return archive.read(record.place).body == b"body %d" % number

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))


def test_two_archives_of_one_home_write_different_files(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    first, second = open_archive(tmp_path), open_archive(tmp_path)
    (a,), (b,) = first.write([build_entry(1)]), second.write([build_entry(2)])
    assert a.place.path != b.place.path
    second.recover(lambda _: None)
    assert first.read(a.place).body == b"<html>1</html>"
    first.finish()
    second.finish()


# Reading


def test_a_loose_file_is_returned_as_body(archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "a b.pdf"
    path.write_bytes(b"%PDF-1.4")
    payload = archive.read(Place(PlaceKind.FILE, str(path)))
    assert (payload.body, payload.http, payload.size_bytes) == (b"%PDF-1.4", None, None)


@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records, warcs.zstd_records])
def test_records_of_foreign_warcs_are_read(pack, archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "foreign.warc"
    members = [pack([record]) for record in (warcs.warcinfo(), warcs.http_response())]
    path.write_bytes(b"".join(members))
    payload = archive.read(Place(PlaceKind.WARC, str(path), len(members[0]), None))
    assert payload.body == warcs.PAGE


def test_threads_read_records_of_one_member_in_any_order(archive: Archive, tmp_path: Path) -> None:
    records = [warcs.http_response(b"body %d" % number) for number in range(60)]
    (tmp_path / "whole.warc.gz").write_bytes(warcs.gzip_as_one_member(records))
    with (tmp_path / "whole.warc.gz").open("rb") as stream:
        places = [
            Place(PlaceKind.WARC, str(tmp_path / "whole.warc.gz"), head.offset)
            for head in read_heads(stream)
        ]
    order = [*range(60), *reversed(range(60)), *range(0, 60, 7)]
    with ThreadPoolExecutor(6) as pool:
        bodies = pool.map(lambda number: archive.read(places[number]).body, order)
        assert list(bodies) == [b"body %d" % number for number in order]


def test_an_offset_without_record_is_damage(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(warcs.gzip_records([warcs.http_response()]))
    for offset in (5, 10**6):
        error = get_read_error(archive, Place(PlaceKind.WARC, str(tmp_path / "a.warc.gz"), offset))
        assert error.reason is Reason.DAMAGED_RECORD


@pytest.mark.parametrize("kind", ON_DISKS)
@pytest.mark.parametrize("path", ["gone.pdf", "/gone/really/a.pdf", "n" * 300, "a\udcff.pdf"])
def test_a_missing_file_is_a_missing_source(
    archive: Archive, kind: PlaceKind, path: str, tmp_path: Path
) -> None:
    place = Place(kind, str(tmp_path / path))
    assert get_read_error(archive, place).reason is Reason.MISSING_SOURCE


@NO_ARCHIVE
def test_places_of_an_unconfigured_archive_are_unreadable(
    archive: Archive, kind: PlaceKind, path: str
) -> None:
    assert get_read_error(archive, Place(kind, path)).reason is Reason.UNREADABLE_SOURCE


def test_a_path_below_a_file_is_a_missing_source(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    error = get_read_error(archive, Place(PlaceKind.FILE, str(tmp_path / "file/below")))
    assert error.reason is Reason.MISSING_SOURCE


@pytest.mark.parametrize("kind", ON_DISKS)
@pytest.mark.parametrize("path", ["", "..", "a/b", "../secret", "archive/../../secret", "a\x00b"])
def test_a_relative_path_is_refused(archive: Archive, kind: PlaceKind, path: str) -> None:
    # `a/b` may be the name of a WARC, but it is unknown here.
    is_name = kind is PlaceKind.WARC and path == "a/b"
    reason = Reason.MISSING_SOURCE if is_name else Reason.UNREADABLE_SOURCE
    assert get_read_error(archive, Place(kind, path)).reason is reason


@pytest.mark.parametrize("kind", [PlaceKind.FILE, PlaceKind.ZIP])
def test_a_bare_name_is_only_accepted_as_an_own_warc(
    archive: Archive, kind: PlaceKind, tmp_path: Path
) -> None:
    (archived,) = archive.write([build_entry()])
    assert (
        get_read_error(archive, Place(kind, archived.place.path)).reason is Reason.UNREADABLE_SOURCE
    )
    missing = Place(
        PlaceKind.WARC, f"fonds-20240305060708-00000-{get_host_name()}-12345678.warc.gz", 0, 10
    )
    assert get_read_error(archive, missing).reason is Reason.MISSING_SOURCE


def test_a_body_with_another_sha1_is_refused(archive: Archive, tmp_path: Path) -> None:
    (archived,) = archive.write([build_entry(body=b"as it was")])
    sha1hex = sha1(b"as it was").hexdigest()
    assert archive.read(archived.place, sha1hex).body == b"as it was"
    with pytest.raises(DamagedInputError, match=f"no longer match {'0' * 40}") as raised:
        archive.read(archived.place, "0" * 40)
    assert raised.value.reason is Reason.DAMAGED_RECORD
    assert str(archived.place) in str(raised.value)
    loose = tmp_path / "loose"
    loose.write_bytes(b"as it is")
    with pytest.raises(DamagedInputError, match=f"no longer match {sha1hex}"):
        archive.read(Place(PlaceKind.FILE, str(loose)), sha1hex)


@pytest.mark.parametrize("kind", ON_DISKS)
def test_pipes_devices_sockets_and_folders_are_refused(
    archive: Archive, kind: PlaceKind, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in ("pipe", "folder", "link", "socket", "/dev/zero"):
            place = Place(kind, str(tmp_path / path))
            assert get_read_error(archive, place).reason is Reason.UNREADABLE_SOURCE


def test_a_file_without_read_permission_is_unreadable(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "locked").write_bytes(b"x")
    (tmp_path / "locked").chmod(0)
    place = Place(PlaceKind.FILE, str(tmp_path / "locked"))
    error = obey_file_modes(lambda: get_read_error(archive, place))
    assert error.reason is Reason.UNREADABLE_SOURCE


def test_a_huge_sparse_file_is_refused_by_its_size(archive: Archive, tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(2 * 1024**3)
    error = get_read_error(archive, Place(PlaceKind.FILE, str(tmp_path / "sparse")))
    assert isinstance(error, LimitError)
    assert error.reason is Reason.TOO_LARGE


def test_a_file_at_the_size_limit_is_read_and_a_larger_one_refused(
    archive: Archive, tmp_path: Path
) -> None:
    (tmp_path / "at").write_bytes(bytes(BODY_MAX_BYTES))
    (tmp_path / "over").write_bytes(bytes(BODY_MAX_BYTES + 1))
    assert len(archive.read(Place(PlaceKind.FILE, str(tmp_path / "at"))).body) == BODY_MAX_BYTES
    assert (
        get_read_error(archive, Place(PlaceKind.FILE, str(tmp_path / "over"))).reason
        is Reason.TOO_LARGE
    )
