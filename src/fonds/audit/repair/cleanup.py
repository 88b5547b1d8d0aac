"""Cleanup of expired rows and leftover files, and recovery after a killed process.

Run `recover` before work resumes in a library. It repairs what a killed process left.
`raise_if_emptied` prevents further work if the records (SQL rows) were lost.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from fonds.audit.audit import describe_lost_records
from fonds.following.poll_links import POLL
from fonds.model.disposition import Verdict
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.rows import CdxRow, CrashedPdfRow, EntryRow, FetchedPageRow, InputRow
from fonds.ports import Blobs, Records, Stores
from fonds.text.exchange import build_spool_key

CHUNK = 500
SETTLED_VERDICTS = frozenset({str(Verdict.DONE), str(Verdict.DROPPED)})


def sweep_stopped(records: Records, now: datetime) -> int:
    """Delete the expired rows about PDFs that crashed the PDF reader. Return the number of rows
    deleted.

    `now` is the current time, aware UTC. A PDF without such a row can be read again.
    """
    expired_rows = (row for row in records.find(CrashedPdfRow) if row.expires <= now)
    removed_count = 0
    while page := list(islice(expired_rows, CHUNK)):
        records.delete(CrashedPdfRow, [(row.sha1hex, row.extractor) for row in page])
        removed_count += len(page)
    return removed_count


def sweep_spool(records: Records, blobs: Blobs, fetched_before: datetime) -> int:
    """Delete old bodies of fetched captures from the spool. Return the number of captures whose
    bodies were deleted.

    `fetched_before`: captures fetched at or after this time are kept.

    Also kept are captures that are pending or in quarantine, because their bodies may still be
    needed.
    """
    old_rows = (
        row
        for row in records.find(FetchedPageRow, {"in_spool": True})
        if row.fetched < fetched_before
    )
    removed_count = 0
    while page := list(islice(old_rows, CHUNK)):
        ids = [row.capture_id for row in page]
        entries = list(records.find(EntryRow, {"entry_id": ids}))
        pending_ids = {row.entry_id for row in entries if row.outcome not in SETTLED_VERDICTS}
        ended_ids = sorted({row.entry_id for row in entries} - pending_ids)
        if ended_ids:
            blobs.delete([build_spool_key(capture_id) for capture_id in ended_ids])
            records.change(FetchedPageRow, ended_ids, {"in_spool": False})
        removed_count += len(ended_ids)
    return removed_count


def sweep_polls(records: Records, older_than: datetime) -> int:
    """Delete the rows of old, finished source polls that had no entries and no rejections.

    A row is old if its last update was before `older_than`. Returns the number of rows deleted.
    """
    idle_filter = {"kind": POLL, "entries": 0, "tally_count": 0, "finished": True}
    removed_count = 0
    while page := list(records.find(InputRow, idle_filter, order=("updated",), count_max=CHUNK)):
        old_keys = [(row.input_id, row.pipeline) for row in page if row.updated < older_than]
        records.delete(InputRow, old_keys)
        removed_count += len(old_keys)
        if len(old_keys) < len(page):
            break
    return removed_count


def sweep_files(folder: Path, older_than: datetime) -> int:
    """Delete the files directly in a folder that were last written before `older_than`. Return the
    number of files deleted.

    Locked files, folders, links, and files that cannot be deleted are kept.
    """
    removed_count = 0
    oldest_s = older_than.timestamp()
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError), _lock_unused_file(Path(entry.path)) as status:
                if stat.S_ISREG(status.st_mode) and status.st_mtime < oldest_s:
                    Path(entry.path).unlink()
                    removed_count += 1
    return removed_count


@contextmanager
def _lock_unused_file(path: Path) -> Iterator[os.stat_result]:
    """Lock a file until the `with` block ends, and yield its status (size, times and mode).

    Raises OSError if another process has locked it, or if it is a link.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(descriptor)
    finally:
        os.close(descriptor)


def raise_if_emptied(stores: Stores) -> None:
    """Raise ConfigurationError if the records (SQL rows) contain no files although other stores do.

    Without this check, further work would truncate WARCs of Fonds to what the records know. It
    would also ingest existing files again. An index that does not respond counts as empty, because
    entries can wait until it responds.
    """

    def count_indexed() -> int:
        try:
            return stores.index.count()
        except StoreUnavailableError:
            return 0

    if message := describe_lost_records(stores, count_indexed):
        raise ConfigurationError(
            f"{message}. Restore the records from a backup, or ingest the inputs into "
            "another --home. Nothing was changed"
        )


def recover(stores: Stores) -> None:
    """Recover from a killed process: cut off bodies at the end of WARCs of Fonds that no `cdx` row
    refers to.

    Raises ConfigurationError if the records (SQL rows) were lost, as `raise_if_emptied` does. The
    SQL table `cdx` has one row per capture in a WARC.
    """
    raise_if_emptied(stores)

    def settled_end(name: str) -> int | None:
        rows = stores.records.find(
            CdxRow, {"warc_path": name}, order=("-warc_offset",), count_max=1
        )
        last = next(rows, None)
        return None if last is None else last.warc_offset + (last.warc_csize or 0)

    stores.archive.recover(settled_end)
