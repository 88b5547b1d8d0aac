"""Which captures are being archived by whom: rows, so that of several who have one in hand one writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from fonds.model.errors import TransientError
from fonds.model.rows import ArchivingRow
from fonds.ports import Records
from fonds.process_identity import is_gone, this_process

ABANDONED = timedelta(minutes=10)
"""A claim so old is nobody's, where it cannot be told whether its process has ended."""


@contextmanager
def claimed_to_archive(
    records: Records, now: datetime, capture_ids: Sequence[str]
) -> Iterator[set[str]]:
    """Those of the captures that nobody else archives meanwhile; they are anybody's again afterwards.

    Whether one is archived is to be asked inside: whoever had it before has written its row of `cdx`. Each
    batch claims for itself: two threads of a process may have one capture in hand.
    """
    claimant, wanted = this_process(), list(dict.fromkeys(capture_ids))
    records.put([ArchivingRow(one, claimant, now) for one in wanted], replace=False)
    try:
        yield _claimed(records, wanted, claimant, now)
    finally:
        with suppress(TransientError):
            _release(records, wanted, claimant)


def _claimed(records: Records, wanted: Sequence[str], claimant: str, now: datetime) -> set[str]:
    there = records.get(ArchivingRow, wanted)
    ours = {row.capture_id for row in there if row.claimed_by == claimant}
    for row in there:
        if row.capture_id not in ours and _is_abandoned(row, now):
            values = {"claimed_by": claimant, "claimed_at": now}
            still = {"claimed_by": row.claimed_by}
            if records.change(ArchivingRow, [row.capture_id], values, still):
                ours.add(row.capture_id)
    return ours


def _release(records: Records, wanted: Sequence[str], claimant: str) -> None:
    there = records.get(ArchivingRow, wanted)
    records.delete(ArchivingRow, [row.capture_id for row in there if row.claimed_by == claimant])


def _is_abandoned(row: ArchivingRow, now: datetime) -> bool:
    return is_gone(row.claimed_by) or now - row.claimed_at > ABANDONED
