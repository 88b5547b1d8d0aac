"""What nobody needs any more is removed: rows that have expired, files that were left behind."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from fonds.formats.spooled import spool_key
from fonds.model.disposition import Verdict
from fonds.model.rows import EntryRow, FetchedRow, InputRow, StoppedRow
from fonds.ports import Blobs, Records
from fonds.sources.following.polls.poll_source import POLL

CHUNK = 500
OVER = frozenset({str(Verdict.DONE), str(Verdict.DROPPED)})


def sweep_stopped(records: Records, now: datetime) -> int:
    """Remove what was noted of PDFs that stopped a reader and has expired; how many rows those were."""
    expired = (row for row in records.find(StoppedRow) if row.expires <= now)
    removed = 0
    while some := list(islice(expired, CHUNK)):
        records.delete(StoppedRow, [(row.sha1hex, row.extractor) for row in some])
        removed += len(some)
    return removed


def sweep_spool(records: Records, blobs: Blobs, fetched_before: datetime) -> int:
    """Let the spool forget what was fetched before a time and refused since: no archive waits for it, and
    nobody is to look at it; how many those were. What still waits, or is in quarantine, stays."""
    old = (
        row for row in records.find(FetchedRow, {"in_spool": True}) if row.fetched < fetched_before
    )
    removed = 0
    while some := list(islice(old, CHUNK)):
        ids = [row.capture_id for row in some]
        entries = list(records.find(EntryRow, {"entry_id": ids}))
        wanted = {row.entry_id for row in entries if row.outcome not in OVER}
        over = sorted({row.entry_id for row in entries} - wanted)
        if over:
            blobs.delete([spool_key(one) for one in over])
            records.change(FetchedRow, over, {"in_spool": False})
        removed += len(over)
    return removed


def sweep_polls(records: Records, older_than: datetime) -> int:
    """Remove polls last written before a time that entered and refused nothing; how many those were."""
    idle = {"kind": POLL, "entries": 0, "tally_count": 0, "finished": True}
    removed = 0
    while some := list(records.find(InputRow, idle, order=("updated",), count_max=CHUNK)):
        old = [(row.input_id, row.pipeline) for row in some if row.updated < older_than]
        records.delete(InputRow, old)
        removed += len(old)
        if len(old) < len(some):
            break
    return removed


def sweep_files(folder: Path, older_than: datetime) -> int:
    """Remove the files of a folder last written before a time, but those that somebody holds locked; how
    many those were. Folders in it, links and what cannot be removed stay."""
    removed = 0
    oldest_s = older_than.timestamp()
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError), _unused(Path(entry.path)) as status:
                if stat.S_ISREG(status.st_mode) and status.st_mtime < oldest_s:
                    Path(entry.path).unlink()
                    removed += 1
    return removed


@contextmanager
def _unused(path: Path) -> Iterator[os.stat_result]:
    """A file locked while the context lasts. Raises OSError when somebody else has it, or it is a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(descriptor)
    finally:
        os.close(descriptor)
