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

from fonds.audit.audit import find_emptied_records
from fonds.following.poll_links import POLL
from fonds.model.disposition import Verdict
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.rows import CdxRow, CrashedPdfRow, EntryRow, FetchedPageRow, InputRow
from fonds.ports import Blobs, Records, Stores
from fonds.text.exchange import build_spool_key

CHUNK = 500
OVER = frozenset({str(Verdict.DONE), str(Verdict.DROPPED)})


def sweep_stopped(records: Records, now: datetime) -> int:
    """Remove what was noted of PDFs that stopped a reader and has expired; how many rows those were."""
    expired = (row for row in records.find(CrashedPdfRow) if row.expires <= now)
    removed = 0
    while some := list(islice(expired, CHUNK)):
        records.delete(CrashedPdfRow, [(row.sha1hex, row.extractor) for row in some])
        removed += len(some)
    return removed


def sweep_spool(records: Records, blobs: Blobs, fetched_before: datetime) -> int:
    """Let the spool forget what was fetched before a time and refused since: no archive waits for it, and
    nobody is to look at it; how many those were. What still waits, or is in quarantine, stays."""
    old = (
        row
        for row in records.find(FetchedPageRow, {"in_spool": True})
        if row.fetched < fetched_before
    )
    removed = 0
    while some := list(islice(old, CHUNK)):
        ids = [row.capture_id for row in some]
        entries = list(records.find(EntryRow, {"entry_id": ids}))
        wanted = {row.entry_id for row in entries if row.outcome not in OVER}
        over = sorted({row.entry_id for row in entries} - wanted)
        if over:
            blobs.delete([build_spool_key(one) for one in over])
            records.change(FetchedPageRow, over, {"in_spool": False})
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
            with suppress(OSError), _lock_unused_file(Path(entry.path)) as status:
                if stat.S_ISREG(status.st_mode) and status.st_mtime < oldest_s:
                    Path(entry.path).unlink()
                    removed += 1
    return removed


@contextmanager
def _lock_unused_file(path: Path) -> Iterator[os.stat_result]:
    """A file locked while the context lasts. Raises OSError when somebody else has it, or it is a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(descriptor)
    finally:
        os.close(descriptor)


# Before work goes on in a home: what a killed process left is mended, emptied records are told.


def refuse_emptied(stores: Stores) -> None:
    """Raises ConfigurationError where the records are empty beside other stores that are full.

    Whoever worked on would cut from our WARCs what the records do not know, and take in anew what is there.
    An index that does not answer is not asked: work can be entered, and waits for it.
    """

    def count_indexed() -> int:
        try:
            return stores.index.count()
        except StoreUnavailableError:
            return 0

    if told := find_emptied_records(stores, count_indexed):
        raise ConfigurationError(
            f"{told}. Put the records back from a copy, or take the inputs in with another --home;"
            " nothing was changed"
        )


def recover(stores: Stores) -> None:
    """Mend what a killed process left behind: bodies in our WARCs that nobody refers to are cut off.

    Raises ConfigurationError as `refuse_emptied` does.
    """
    refuse_emptied(stores)

    def settled_end(name: str) -> int | None:
        rows = stores.records.find(
            CdxRow, {"warc_path": name}, order=("-warc_offset",), count_max=1
        )
        last = next(rows, None)
        return None if last is None else last.warc_offset + (last.warc_csize or 0)

    stores.archive.recover(settled_end)
