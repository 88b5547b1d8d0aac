"""Which captures are being archived by whom: rows, so that of several who have one in hand one writes it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fonds.model.errors import TransientError
from fonds.model.rows import ArchivingRow
from fonds.ports import Records
from fonds.process_identity import is_gone, this_process

ABANDONED = timedelta(minutes=10)
"""A claim so old is nobody's, where it cannot be told whether its process has ended."""


@dataclass(frozen=True, slots=True)
class ArchiveClaims:
    """Claims of this process, each batch's apart: two of its threads may have one capture in hand."""

    records: Records
    clock: Callable[[], datetime]
    who: str = field(default_factory=this_process)

    @contextmanager
    def held(self, capture_ids: Sequence[str]) -> Iterator[set[str]]:
        """Those of the captures that nobody else archives meanwhile; they are anybody's again afterwards.

        Whether one is archived is to be asked inside: whoever had it before has written its row of `cdx`.
        """
        claimant, now = f"{self.who}/{secrets.token_hex(4)}", self.clock()
        wanted = list(dict.fromkeys(capture_ids))
        rows = [ArchivingRow(one, claimant, now) for one in wanted]
        self.records.put(rows, replace=False)
        try:
            yield self._claimed(wanted, claimant, now)
        finally:
            with suppress(TransientError):
                self._release(wanted, claimant)

    def _claimed(self, wanted: Sequence[str], claimant: str, now: datetime) -> set[str]:
        there = self.records.get(ArchivingRow, wanted)
        ours = {row.capture_id for row in there if row.claimed_by == claimant}
        for row in there:
            if row.capture_id not in ours and _is_abandoned(row, now):
                values = {"claimed_by": claimant, "claimed_at": now}
                still = {"claimed_by": row.claimed_by}
                if self.records.change(ArchivingRow, [row.capture_id], values, still):
                    ours.add(row.capture_id)
        return ours

    def _release(self, wanted: Sequence[str], claimant: str) -> None:
        there = self.records.get(ArchivingRow, wanted)
        self.records.delete(
            ArchivingRow, [row.capture_id for row in there if row.claimed_by == claimant]
        )


def _is_abandoned(row: ArchivingRow, now: datetime) -> bool:
    return is_gone(row.claimed_by) or now - row.claimed_at > ABANDONED
