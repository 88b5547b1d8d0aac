"""Cleanup of expired rows, polls, files and the spool."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from filled_home import open_home
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.audit.repair.cleanup import (
    sweep_files,
    sweep_polls,
    sweep_spool,
    sweep_stopped,
)
from fonds.following.link_rules import build_link
from fonds.ingest.steps.spool import FetchedLink, Spool
from fonds.model.exchange import Exchange, Hop
from fonds.model.rows import (
    CrashedPdfRow,
    EntryRow,
    FetchedPageRow,
    InputRow,
    TimetableRow,
)
from fonds.stores.blobs import FolderBlobs
from fonds.wiring.timetable import create_runner
from small_pipeline import Workplace

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def make_crashed_pdf(number: int, expires: datetime) -> CrashedPdfRow:
    return CrashedPdfRow(f"{number:040x}", "reader 1", "error-timeout", "why", NOW, expires)


def test_expired_rows_are_removed_and_others_stay(place: Workplace) -> None:
    expired = [make_crashed_pdf(n, NOW - timedelta(seconds=n % 3)) for n in range(1300)]
    current = [make_crashed_pdf(5000 + n, NOW + timedelta(seconds=1)) for n in range(3)]
    place.records.put([*expired, *current])
    assert sweep_stopped(place.records, NOW) == 1300
    assert list(place.records.find(CrashedPdfRow)) == current
    assert sweep_stopped(place.records, NOW) == 0


def make_poll(
    number: int, days: int, entries: int = 0, refused: int = 0, kind: str = "poll"
) -> InputRow:
    tally = {"non-news": refused} if refused else {}
    polled_at = NOW - timedelta(days=days)
    name = f"ab.{number:06}"
    return InputRow(name, "u", kind, "{}", 0, entries, tally, refused, True, None, polled_at, "p")


def test_old_polls_without_entries_are_removed_and_others_stay(place: Workplace) -> None:
    idle = [make_poll(number, 91) for number in range(1200)]
    used = [make_poll(2000, 91, entries=1), make_poll(2001, 91, refused=1), make_poll(2002, 89)]
    used += [make_poll(2003, 91, kind="warc")]
    place.ledger.enter([*idle, *used], [], ())
    assert sweep_polls(place.records, NOW - timedelta(days=90)) == 1200
    remaining = {row.input_id for row in place.records.find(InputRow)}
    assert remaining == {row.input_id for row in used}
    assert place.ledger.recount() == []


def make_old_file(path: Path, days: float = 2) -> Path:
    path.write_bytes(b"left")
    seconds = (NOW - timedelta(days=days)).timestamp()
    os.utime(path, (seconds, seconds))
    return path


def test_old_files_are_removed_unless_they_are_locked_or_no_files(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    unused = [make_old_file(folder / f"gone-{number}") for number in range(3)]
    new, locked, outside = (
        make_old_file(folder / "new", 0.5),
        make_old_file(folder / "held"),
        make_old_file(tmp_path / "outside"),
    )
    (folder / "link").symlink_to(outside)
    (folder / "below").mkdir()
    os.mkfifo(folder / "pipe")
    with locked.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert sweep_files(folder, NOW - timedelta(days=1)) == 3
    assert not any(path.exists() for path in unused)
    assert {path.name for path in folder.iterdir()} == {"new", "held", "link", "below", "pipe"}
    assert outside.exists()
    assert new.exists()
    assert sweep_files(folder, NOW - timedelta(days=1)) == 1


def test_a_missing_folder_has_nothing_to_remove(tmp_path: Path) -> None:
    assert sweep_files(tmp_path / "none", NOW) == 0


@pytest.mark.parametrize(
    ("outcomes", "is_removed"),
    [
        (("dropped",), True),
        (("done",), True),
        (("pending",), False),
        (("quarantined",), False),
        (("dropped", "pending"), False),
        ((), False),
    ],
)
def test_the_spool_removes_only_pages_that_no_pipeline_may_need(
    place: Workplace, tmp_path: Path, outcomes: tuple[str, ...], is_removed: bool
) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    spool = Spool(blobs, place.records, FolderArchive(tmp_path / "archive", ArchiveOptions()))
    fetched = []
    for name, age in (("old", timedelta(days=2)), ("new", timedelta(hours=1))):
        hop = Hop("http://a.example/", NOW - age, 200, "HTTP/1.1 200 OK", ())
        link = build_link("http://a.example/", name)
        fetched += spool.save([FetchedLink(link, Exchange((hop,)), b"body")])
        for number, outcome in enumerate(outcomes):
            entry = EntryRow(
                link.id, f"p{number}", "link", name, "u", None, None, "c", NOW, outcome
            )
            place.records.put([entry])
    old_page, new_page = fetched
    assert sweep_spool(place.records, blobs, NOW - timedelta(days=1)) == is_removed
    assert (blobs.get(old_page.place.path) is None) is is_removed
    assert blobs.get(new_page.place.path) is not None
    rows = {row.capture_id: row.in_spool for row in place.records.find(FetchedPageRow)}
    assert rows == {old_page.id: not is_removed, new_page.id: True}


def test_the_timetable_keeps_polls_for_ninety_days_and_files_for_one(
    tmp_path: Path,
) -> None:
    folder, now = tmp_path / "tmp", datetime.now(UTC)
    folder.mkdir()
    old_file = folder / "left"
    old_file.write_bytes(b"left")
    os.utime(old_file, (now.timestamp() - 2 * 86_400,) * 2)
    with open_home(tmp_path / "home") as stores:
        polls = [
            replace(make_poll(days, 0), updated=now - timedelta(days=days)) for days in (89, 91)
        ]
        stores.ledger.enter(polls, [], ())
        due = now - timedelta(days=1)
        row = TimetableRow("sweep", "", 86_400, "03:00", due, None, 0, None, None, None, 0, 0)
        stores.records.put([row])
        assert create_runner(stores, folder, 30).run_due() == ["sweep"]
        assert [row.input_id for row in stores.records.find(InputRow)] == [polls[0].input_id]
    assert not old_file.exists()
