"""Whether the books say of each derivative what its row shows: it was read, and it was kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from fonds.kinds import KINDS, kinds_with_rows
from fonds.kinds.kind import DerivativeKind, Reading
from fonds.library.checks.fault import Check, Fault
from fonds.library.chunks import chunks
from fonds.model.disposition import Verdict
from fonds.model.rows import DispositionRow, FileMetaRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records

ACCOUNTED = frozenset({str(Verdict.DONE), str(Verdict.QUARANTINED)})
"""What explains that a row is there: it was written, or something failed after it was."""


def endings(records: Records, began: datetime) -> Iterator[Fault]:
    """The faults of all derivatives that nobody is working on."""
    for first in kinds_with_rows():
        kinds = [kind for kind in KINDS if kind.row is first.row]
        steps = {step for kind in kinds for step in kind.sinks}.union(
            *(kind.reading.steps for kind in kinds if kind.reading)
        )
        rows = (row for row in records.find(first.row) if row.updated <= began)
        for some in chunks(rows):
            where = {"about": [row.sha1hex for row in some]}
            said: dict[str, list[DispositionRow]] = defaultdict(list)
            busy = set()
            for one in records.find(DispositionRow, where):
                if one.is_open:
                    busy.add(one.about)
                if one.step in steps:
                    said[one.about or ""].append(one)
            settled = [row for row in some if row.sha1hex not in busy]
            for row in settled:
                yield from _kept(kinds, first, row, said[row.sha1hex])
            for kind in kinds:
                if kind.reading:
                    yield from _read(records, kind, kind.reading, settled, said)


def _kept(
    kinds: Sequence[DerivativeKind],
    first: DerivativeKind,
    row: DerivativeRow,
    said: Sequence[DispositionRow],
) -> Iterator[Fault]:
    """What a row shows, its sink has written."""
    for kind in kinds:
        if kind is not first and not kind.blobs(row):
            continue
        if not any(one.step in kind.sinks and one.verdict in ACCOUNTED for one in said):
            sinks = " or ".join(kind.sinks)
            told = f"{row.sha1hex} has its {kind.title} in {row.TABLE}, and {sinks} is not done with it"
            yield Fault(Check.ENDING, row.sha1hex, told, step=kind.step)


def _read(
    records: Records,
    kind: DerivativeKind,
    reading: Reading,
    rows: Sequence[DerivativeRow],
    said: dict[str, list[DispositionRow]],
) -> Iterator[Fault]:
    """How reading a file ended is what the status of its row says."""
    unread = []
    for row in rows:
        ended = [one for one in said[row.sha1hex] if one.step in reading.steps]
        if not ended:
            unread.append(row.sha1hex)
        elif told := _unlike(row, reading, ended):
            yield Fault(Check.ENDING, row.sha1hex, told, step=reading.step)
    owners = {one.sha1hex: one.capture_id for one in records.get(FileMetaRow, unread)}
    for sha1hex in unread:
        told = f"{sha1hex} has its {kind.title}, and no message about it is on the books of {reading.step}"
        yield Fault(Check.WAY, owners.get(sha1hex, sha1hex), told, step=reading.step)


def _unlike(row: DerivativeRow, reading: Reading, ended: Sequence[DispositionRow]) -> str | None:
    kept = row.status in reading.kept
    if any(one.verdict == Verdict.DONE for one in ended):
        if kept:
            return None
        return f"{reading.step} is done with {row.sha1hex}, and its status is {row.status}"
    last = max(ended, key=lambda one: one.settled_at or one.promised_at)
    # What was read before and failed when it was read again keeps its older row.
    if kept and row.updated >= (last.settled_at or last.promised_at):
        return (
            f"{reading.step} ended as {last.verdict} with {row.sha1hex}, and its status is"
            f" {row.status}"
        )
    return None
