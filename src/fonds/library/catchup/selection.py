"""Which files of a kind are to be read, by what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from fonds.kinds.kind import DerivativeKind, Reading
from fonds.model.disposition import Verdict
from fonds.model.errors import ConfigurationError
from fonds.model.rows import DispositionRow, FileMetaRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records
from fonds.runtime.quarantine import BATCH_MAX


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a kind are to be read, by what is known of them.

    Without `again`: those of whom nothing is known and whom no reading refused, who failed for a reason that
    may be gone, or were read by another extractor than `extractor`. With it: those that fit all of
    `statuses`, `made_by` (the beginning of an extractor's name) and `before`, whatever else is known.
    `only` names the files there is to choose from, some hundred; empty: all.
    """

    kind: DerivativeKind
    extractor: str
    again: bool = False
    statuses: frozenset[str] = frozenset()
    made_by: str = ""
    before: datetime | None = None
    only: frozenset[str] = frozenset()

    @property
    def reading(self) -> Reading:
        """How the kind is read again. Raises ConfigurationError for one that is made with another."""
        if self.kind.reading is None:
            raise ConfigurationError(
                f"{self.kind.name} is made with another kind; catch up that one"
            )
        return self.kind.reading

    def __call__(self, row: DerivativeRow | None, refused: bool = False) -> bool:
        """Whether a file with this row is wanted; None is a file without one, `refused` one whose reading
        ended as dropped."""
        if row is None:
            chosen = bool(self.statuses or self.made_by or self.before)
            return not chosen and (self.again or not refused)
        if self.again:
            return (
                (not self.statuses or row.status in self.statuses)
                and row.extractor.startswith(self.made_by)
                and (self.before is None or row.updated < self.before)
            )
        return row.extractor != self.extractor or row.status in self.reading.again

    def of(self, records: Records, sha1hexes: Sequence[str]) -> dict[str, DerivativeRow | None]:
        """Those of these files that are wanted, with their row."""
        sha1hexes = [key for key in sha1hexes if not self.only or key in self.only]
        known = {row.sha1hex: row for row in records.get(self.kind.row, sha1hexes)}
        bare = [key for key in sha1hexes if key not in known]
        where = {"about": bare, "step": self.reading.step, "verdict": str(Verdict.DROPPED)}
        refused = {row.about for row in records.find(DispositionRow, where)} if bare else set()
        return {key: known.get(key) for key in sha1hexes if self(known.get(key), key in refused)}

    def files(self, records: Records) -> Iterator[FileMetaRow]:
        """All files the kind is made of, or those named."""
        if self.only:
            named = records.get(FileMetaRow, sorted(self.only))
            return (row for row in named if row.mimetype in self.kind.mimetypes)
        return records.find(FileMetaRow, {"mimetype": list(self.kind.mimetypes)})

    def count(self, records: Records) -> dict[str, int]:
        """How many files are wanted, by the status they have; '' for those that have none."""
        counts: Counter[str] = Counter()
        files = self.files(records)
        while batch := [row.sha1hex for row in islice(files, BATCH_MAX)]:
            rows = self.of(records, batch).values()
            counts.update(row.status if row else "" for row in rows)
        return dict(counts)
