"""What is done at a sink is held against the row it wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fonds.kinds import KINDS
from fonds.kinds.kind import DerivativeKind
from fonds.library.checks.fault import Check, Fault
from fonds.library.chunks import CHUNK
from fonds.model.disposition import Verdict
from fonds.model.rows import DispositionRow
from fonds.ports import Records

_SINKS: Mapping[str, Sequence[DerivativeKind]] = {
    step: [kind for kind in KINDS if step in kind.sinks]
    for step in {step for kind in KINDS for step in kind.sinks}
}


@dataclass(slots=True)
class DoneAtSinks:
    """Holds each message done at a kind's sink against the row it wrote, some hundred at a time."""

    records: Records
    began: datetime
    _held: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def note(self, row: DispositionRow) -> Iterator[Fault]:
        """Remember a disposition; the faults that are found now."""
        if row.verdict != Verdict.DONE or not row.about or row.step.partition("-")[0] not in _SINKS:
            return
        if row.settled_at and row.settled_at > self.began:
            return
        held = self._held[row.step]
        held.append(row.about)
        if len(held) >= CHUNK:
            yield from self._faults(row.step)

    def rest(self) -> Iterator[Fault]:
        """The faults among those not looked at yet."""
        for stage in sorted(self._held):
            yield from self._faults(stage)

    def _faults(self, stage: str) -> Iterator[Fault]:
        about, self._held[stage] = sorted(set(self._held[stage])), []
        step, _, tag = stage.partition("-")
        for kind in _SINKS[step]:
            rows = {row.sha1hex: row for row in self.records.get(kind.row, about)}
            for key in about:
                if not kind.written(rows.get(key), tag):
                    told = f"{stage} is done with {key} and {kind.row.TABLE} does not say so"
                    yield Fault(Check.ROW, key, told)
