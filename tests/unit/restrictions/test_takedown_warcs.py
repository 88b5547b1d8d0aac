"""A takedown purges the file from our WARCs and changes nothing else in them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from filled_home import FilledHome, fill_home, open_home
from fonds.archive.replay.bodies import ReplayedCapture, load_capture_body
from fonds.audit.audit import run_audit
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.audit.warcs import verify
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind
from fonds.model.rows import CdxRow
from fonds.ports import Stores
from fonds.restrictions.traces import find_traces
from fonds.restrictions.warc_records import WarcPurge
from fonds.stores.journal_table.keys import build_row_key
from home_rows import NOW, Body, cdx_row, file_row, write, write_to_archive
from purged_files import holders
from takedowns import (
    DyingStore,
    KilledError,
    build_takedown,
    create_takedown_service,
    ended_process,
    take_down,
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, FilledHome]]:
    filled = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores, filled


def find_own_warc(stores: Stores, sha1hex: str) -> tuple[str, bytes]:
    """Return the name of our WARC with the file, and the bytes of the file."""
    rows = stores.records.find(CdxRow, {"sha1hex": sha1hex})
    row = next(cdx_row for cdx_row in rows if cdx_row.mimetype != REVISIT_MIME)
    place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
    return row.warc_path, stores.archive.read(place, sha1hex).body


def replay_others(stores: Stores, sha1hex: str) -> dict[tuple[str, int], ReplayedCapture]:
    """Return the replay of every other capture in our WARCs."""
    return {
        (row.warc_path, row.warc_offset): load_capture_body(stores.records, stores.archive, row)
        for row in stores.records.find(CdxRow)
        if row.sha1hex != sha1hex and "/" not in row.warc_path
    }


def test_the_bytes_are_removed_and_other_captures_are_unchanged(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, body = find_own_warc(stores, sha1hex)
    (warc,) = find_traces(stores, None, sha1hex).warcs
    assert (warc.name, warc.captures, warc.is_open) == (name, 1, False)
    assert warc.size_bytes == (tmp_path / "archive" / name).stat().st_size
    other_captures = replay_others(stores, sha1hex)
    assert holders(tmp_path, body) == [name]
    assert take_down(create_takedown_service(stores), build_takedown(sha1hex)).finished == NOW
    assert holders(tmp_path, body) == []
    assert replay_others(stores, sha1hex) == other_captures
    assert len(other_captures) > 20
    assert verify(stores.archive, name).faults == []
    assert find_traces(stores, None, sha1hex).warcs == []


def test_a_takedown_killed_between_any_two_writes_forgets_no_warc(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[0]
    _, body = find_own_warc(stores, sha1hex)
    other_captures, process_name = replay_others(stores, sha1hex), ended_process()
    kill_after, is_done = 0, False
    while not is_done:
        writes_left = [kill_after]
        acts = ("put", "delete", "change", "change_each", "purge")
        names = ("records", "blobs", "index", "table", "archive")
        dying_stores = replace(
            stores, **{name: DyingStore(getattr(stores, name), writes_left, acts) for name in names}
        )
        try:
            service = create_takedown_service(dying_stores, who=process_name)
            is_done = take_down(service, build_takedown(sha1hex)).finished is not None
        except KilledError:
            # Something refers to the WARC as long as it contains the bytes.
            assert find_traces(stores, None, sha1hex).warcs or not holders(
                tmp_path / "archive", body
            )
        kill_after += 1
        assert kill_after < 200
    assert kill_after > 10
    assert holders(tmp_path, body) == []
    assert replay_others(stores, sha1hex) == other_captures


def test_an_open_warc_is_purged_by_a_later_repeat(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, _ = home
    (late_body,) = write_to_archive(
        stores, [Body(950, "http://late.example/", NOW, "text/html", b"late " * 99)]
    )
    write(stores, [file_row(late_body), cdx_row(late_body)])
    messages: list[str] = []
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    takedown = replace(
        create_takedown_service(stores), warcs=WarcPurge(stores.archive, leases, messages.append)
    )
    assert find_traces(stores, None, late_body.sha1hex).warcs[0].is_open
    row = take_down(takedown, build_takedown(late_body.sha1hex))
    assert (row.finished, "still being written" in messages[0]) == (None, True)
    assert not find_traces(stores, None, late_body.sha1hex).has_any
    stores.archive.finish()
    assert holders(tmp_path / "archive", late_body.content) != []
    row = take_down(takedown, build_takedown(late_body.sha1hex))
    assert row.finished == NOW
    assert holders(tmp_path / "archive", late_body.content) == []


def test_a_warc_rewritten_by_another_process_is_purged_by_a_later_repeat(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, _ = find_own_warc(stores, sha1hex)
    other_leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    with other_leases.acquire(f"warc {name}", 0.0):
        assert take_down(create_takedown_service(stores), build_takedown(sha1hex)).finished is None
    assert take_down(create_takedown_service(stores), build_takedown(sha1hex)).finished == NOW


def test_records_without_rows_are_found_in_the_indexes(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, body = find_own_warc(stores, sha1hex)
    # An older takedown, which did not purge WARCs, left this state.
    for row in stores.records.find(CdxRow, {"sha1hex": sha1hex}):
        stores.records.delete(CdxRow, [(row.warc_path, row.warc_offset)])
    for key, _ in stores.table.scan(stores.journal, build_row_key(sha1hex)):
        stores.table.delete(stores.journal, [key])
    assert take_down(create_takedown_service(stores), build_takedown(sha1hex)).finished == NOW
    assert holders(tmp_path, body) == [name]
    assert list_reported(stores) == [sha1hex]
    assert (
        take_down(
            create_takedown_service(stores, scans_all_warcs=True), build_takedown(sha1hex)
        ).finished
        == NOW
    )
    assert holders(tmp_path, body) == []
    assert list_reported(stores) == []


def list_reported(stores: Stores) -> list[str]:
    faults: list[AuditFault] = []
    run_audit(stores, {}, faults.append)
    return [fault.subject for fault in faults if fault.check is AuditCheck.TAKEN_DOWN]


@pytest.mark.parametrize("is_at_start", [False, True])
def test_a_damaged_warc_is_reported_and_left_unchanged(
    home: tuple[Stores, FilledHome], tmp_path: Path, is_at_start: bool
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, _ = find_own_warc(stores, sha1hex)
    path = tmp_path / "archive" / name
    before = bytearray(path.read_bytes())
    (row,) = stores.records.find(CdxRow, {"sha1hex": filled.stories[5]})
    offset = 0 if is_at_start else row.warc_offset
    before[offset : offset + 40] = b"x" * 40
    path.write_bytes(before)
    messages: list[str] = []
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    takedown = replace(
        create_takedown_service(stores), warcs=WarcPurge(stores.archive, leases, messages.append)
    )
    assert take_down(takedown, build_takedown(sha1hex)).finished is None
    assert "The removed bytes may be there" in messages[0]
    assert path.read_bytes() == before


def test_an_ingested_warc_is_not_changed(home: tuple[Stores, FilledHome], tmp_path: Path) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, _ = find_own_warc(stores, sha1hex)
    crawl = tmp_path / "crawl" / name
    crawl.parent.mkdir()
    crawl.write_bytes((tmp_path / "archive" / name).read_bytes())
    before = sha256(crawl.read_bytes()).hexdigest()
    (row,) = stores.records.find(CdxRow, {"sha1hex": sha1hex})
    stores.records.put([replace(row, warc_path=str(crawl))])
    assert take_down(create_takedown_service(stores), build_takedown(sha1hex)).finished == NOW
    assert sha256(crawl.read_bytes()).hexdigest() == before
    assert stores.records.count(CdxRow, (), {"sha1hex": sha1hex})[()] == 0
