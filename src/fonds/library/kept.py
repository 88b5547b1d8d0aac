"""Whether what is done is there: rows, blobs, documents, and the files they were made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TypeVar

from fonds.formats.journal import FILE_SIZE
from fonds.kinds import KINDS
from fonds.kinds.kind import DerivativeKind
from fonds.model.disposition import Verdict
from fonds.model.rows import CdxRow, DispositionRow, FileMetaRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores

CHUNK = 500
T = TypeVar("T")
_SINKS: Mapping[str, Sequence[DerivativeKind]] = {
    step: [kind for kind in KINDS if kind.step == step] for step in {kind.step for kind in KINDS}
}


@dataclass(slots=True)
class DoneAtSinks:
    """Holds each message done at a kind's sink against the row it wrote, some hundred at a time."""

    records: Records
    began: datetime
    _held: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def note(self, row: DispositionRow) -> Iterator[str]:
        """Remember a disposition; the faults that are found now."""
        if row.verdict != Verdict.DONE or not row.about or row.step.partition("-")[0] not in _SINKS:
            return
        if row.settled_at and row.settled_at > self.began:
            return
        held = self._held[row.step]
        held.append(row.about)
        if len(held) >= CHUNK:
            yield from self._faults(row.step)

    def rest(self) -> Iterator[str]:
        """The faults among those not looked at yet."""
        for stage in sorted(self._held):
            yield from self._faults(stage)

    def _faults(self, stage: str) -> Iterator[str]:
        about, self._held[stage] = sorted(set(self._held[stage])), []
        step, _, tag = stage.partition("-")
        for kind in _SINKS[step]:
            rows = {row.sha1hex: row for row in self.records.get(kind.row, about)}
            for key in about:
                if not kind.written(rows.get(key), tag):
                    yield f"{stage} is done with {key} and {kind.row.TABLE} does not say so"


def faults(stores: Stores, began: datetime, archiving: Sequence[str] | None) -> Iterator[str]:
    """What derivatives promise and is not there. `archiving` names the pipelines whose files should all lie
    in a WARC by now; None: nothing is said of that."""
    seen = set()
    for kind in KINDS:
        rows = (row for row in stores.records.find(kind.row) if row.updated <= began)
        first = kind.row.TABLE not in seen
        seen.add(kind.row.TABLE)
        for some in _chunks(rows):
            yield from _blobs(stores, [key for row in some for key in kind.blobs(row)])
            yield from _indexed(stores, kind, some, began)
            if first:
                yield from _described(stores, [row.sha1hex for row in some], archiving)


def _blobs(stores: Stores, keys: Sequence[str]) -> Iterator[str]:
    for key in sorted(set(keys) - stores.blobs.exists(keys)) if keys else ():
        yield f"blob {key} is missing"


def _indexed(
    stores: Stores, kind: DerivativeKind, rows: Sequence[DerivativeRow], began: datetime
) -> Iterator[str]:
    """Each document that should be is in the index, made of the file it is to be made of."""
    if kind.indexed is None:
        return
    ids = sorted({kind.indexed.id_of(row) for row in rows})
    # The index first: a row that came in between is younger than `began`.
    there = stores.index.get(ids)
    for id_, row in sorted(kind.indexed.current(stores.records, ids).items()):
        if row.updated > began:
            continue
        if id_ not in there:
            yield f"{kind.title} {id_} is not in the index"
        elif there[id_].sha1hex != row.sha1hex:
            yield f"{kind.title} {id_} is in the index as {there[id_].sha1hex}, not {row.sha1hex}"


def _described(
    stores: Stores, sha1hexes: Sequence[str], archiving: Sequence[str] | None
) -> Iterator[str]:
    """Every derivative belongs to a file with a row in both stores and a place in a WARC."""
    rows = {row.sha1hex for row in stores.records.get(FileMetaRow, sha1hexes)}
    cells = stores.table.get(stores.journal, [bytes.fromhex(key) for key in sha1hexes], [FILE_SIZE])
    placed = {row.sha1hex for row in stores.records.find(CdxRow, {"sha1hex": list(sha1hexes)})}
    for key in sha1hexes:
        if key not in rows:
            yield f"file {key} has no row in file_meta"
        if bytes.fromhex(key) not in cells:
            yield f"file {key} has no row in the table {stores.journal}"
        if archiving and key not in placed and _to_archive(stores.records, key, archiving):
            yield f"file {key} lies in no WARC"


def _to_archive(records: Records, sha1hex: str, archiving: Sequence[str]) -> bool:
    """Whether the file should lie in a WARC: it came into a pipeline that archives, as far as the books say,
    and no message about it is quarantined, which would account for its absence."""
    if _noted(records, sha1hex, verdict=str(Verdict.QUARANTINED)):
        return False
    return _noted(records, sha1hex, pipeline=list(archiving)) or not _noted(records, sha1hex)


def _noted(records: Records, sha1hex: str, **where: object) -> bool:
    """Whether there is such a disposition of a message about the file."""
    rows = records.find(DispositionRow, {"about": sha1hex, **where}, count_max=1)
    return next(rows, None) is not None


def _chunks(rows: Iterator[T]) -> Iterator[list[T]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
