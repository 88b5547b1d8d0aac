"""A takedown purges the WARCs of ours that hold the file, and changes nothing else of them."""

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
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, FilledHome]]:
    filled = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores, filled


def _own(stores: Stores, sha1hex: str) -> tuple[str, bytes]:
    """The WARC of ours a file lies in, and its bytes."""
    rows = stores.records.find(CdxRow, {"sha1hex": sha1hex})
    row = next(one for one in rows if one.mimetype != REVISIT_MIME)
    place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
    return row.warc_path, stores.archive.read(place, sha1hex).body


def _others(stores: Stores, sha1hex: str) -> dict[tuple[str, int], ReplayedCapture]:
    """What every other capture in a WARC of ours is replayed as."""
    return {
        (row.warc_path, row.warc_offset): load_capture_body(stores.records, stores.archive, row)
        for row in stores.records.find(CdxRow)
        if row.sha1hex != sha1hex and "/" not in row.warc_path
    }


def test_its_bytes_are_in_no_file_and_its_neighbours_read_as_before(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, body = _own(stores, sha1hex)
    (looked,) = find_traces(stores, None, sha1hex).warcs
    assert (looked.name, looked.captures, looked.is_open) == (name, 1, False)
    assert looked.size_bytes == (tmp_path / "archive" / name).stat().st_size
    others = _others(stores, sha1hex)
    assert holders(tmp_path, body) == [name]
    assert create_takedown_service(stores)(build_takedown(sha1hex)).finished == NOW
    assert holders(tmp_path, body) == []
    assert _others(stores, sha1hex) == others
    assert len(others) > 20
    assert verify(stores.archive, name).faults == []
    assert find_traces(stores, None, sha1hex).warcs == []


def test_killed_between_any_two_acts_no_warc_is_forgotten(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[0]
    _, body = _own(stores, sha1hex)
    others, who = _others(stores, sha1hex), ended_process()
    killed, done = 0, False
    while not done:
        left = [killed]
        acts = ("put", "delete", "change", "change_each", "purge")
        names = ("records", "blobs", "index", "table", "archive")
        dying = replace(
            stores, **{name: DyingStore(getattr(stores, name), left, acts) for name in names}
        )
        try:
            done = (
                create_takedown_service(dying, who=who)(build_takedown(sha1hex)).finished
                is not None
            )
        except KilledError:
            # What leads to the WARC stands somewhere as long as the bytes do.
            assert find_traces(stores, None, sha1hex).warcs or not holders(
                tmp_path / "archive", body
            )
        killed += 1
        assert killed < 200
    assert killed > 10
    assert holders(tmp_path, body) == []
    assert _others(stores, sha1hex) == others


def test_a_warc_that_is_written_to_is_purged_when_it_is_said_again(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, _ = home
    (late,) = write_to_archive(
        stores, [Body(950, "http://late.example/", NOW, "text/html", b"late " * 99)]
    )
    write(stores, [file_row(late), cdx_row(late)])
    said: list[str] = []
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    act = replace(
        create_takedown_service(stores), warcs=WarcPurge(stores.archive, leases, said.append)
    )
    assert find_traces(stores, None, late.sha1hex).warcs[0].is_open
    row = act(build_takedown(late.sha1hex))
    assert (row.finished, "still being written" in said[0]) == (None, True)
    assert not find_traces(stores, None, late.sha1hex).has_any
    stores.archive.finish()
    assert holders(tmp_path / "archive", late.content) != []
    row = act(build_takedown(late.sha1hex))
    assert row.finished == NOW
    assert holders(tmp_path / "archive", late.content) == []


def test_what_another_process_writes_anew_just_now_waits(home: tuple[Stores, FilledHome]) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, _ = _own(stores, sha1hex)
    other = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    with other.acquire(f"warc {name}", 0.0):
        assert create_takedown_service(stores)(build_takedown(sha1hex)).finished is None
    assert create_takedown_service(stores)(build_takedown(sha1hex)).finished == NOW


def test_records_no_row_leads_to_are_found_by_the_indexes(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, body = _own(stores, sha1hex)
    # As a takedown left it that knew nothing of WARCs.
    for row in stores.records.find(CdxRow, {"sha1hex": sha1hex}):
        stores.records.delete(CdxRow, [(row.warc_path, row.warc_offset)])
    for key, _ in stores.table.scan(stores.journal, build_row_key(sha1hex)):
        stores.table.delete(stores.journal, [key])
    assert create_takedown_service(stores)(build_takedown(sha1hex)).finished == NOW
    assert holders(tmp_path, body) == [name]
    assert _told_still_there(stores) == [sha1hex]
    assert (
        create_takedown_service(stores, scans_all_warcs=True)(build_takedown(sha1hex)).finished
        == NOW
    )
    assert holders(tmp_path, body) == []
    assert _told_still_there(stores) == []


def _told_still_there(stores: Stores) -> list[str]:
    found: list[AuditFault] = []
    run_audit(stores, {}, found.append)
    return [one.subject for one in found if one.check is AuditCheck.TAKEN_DOWN]


@pytest.mark.parametrize("at_its_start", [False, True])
def test_a_damaged_warc_is_told_and_stays_as_it_was(
    home: tuple[Stores, FilledHome], tmp_path: Path, at_its_start: bool
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, _ = _own(stores, sha1hex)
    path = tmp_path / "archive" / name
    before = bytearray(path.read_bytes())
    (row,) = stores.records.find(CdxRow, {"sha1hex": filled.stories[5]})
    offset = 0 if at_its_start else row.warc_offset
    before[offset : offset + 40] = b"x" * 40
    path.write_bytes(before)
    said: list[str] = []
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    act = replace(
        create_takedown_service(stores), warcs=WarcPurge(stores.archive, leases, said.append)
    )
    assert act(build_takedown(sha1hex)).finished is None
    assert "The removed bytes may be there" in said[0]
    assert path.read_bytes() == before


def test_a_warc_that_was_taken_in_is_not_touched(
    home: tuple[Stores, FilledHome], tmp_path: Path
) -> None:
    stores, filled = home
    sha1hex = filled.stories[3]
    name, _ = _own(stores, sha1hex)
    crawl = tmp_path / "crawl" / name
    crawl.parent.mkdir()
    crawl.write_bytes((tmp_path / "archive" / name).read_bytes())
    before = sha256(crawl.read_bytes()).hexdigest()
    (row,) = stores.records.find(CdxRow, {"sha1hex": sha1hex})
    stores.records.put([replace(row, warc_path=str(crawl))])
    assert create_takedown_service(stores)(build_takedown(sha1hex)).finished == NOW
    assert sha256(crawl.read_bytes()).hexdigest() == before
    assert stores.records.count(CdxRow, (), {"sha1hex": sha1hex})[()] == 0
