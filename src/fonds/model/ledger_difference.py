"""Differences that a recount of the ledger finds: what is stored, and what was counted instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class OutcomeDifference:
    """Entry whose stored outcome does not follow from the dispositions of its messages.

    - `entry_id`, `pipeline`: the entry.
    - `stored_outcome`, `stored_open_count`: outcome, and number of open messages, in its row.
    - `derived_outcome`, `derived_open_count`: the same, derived from its dispositions.
    """

    entry_id: str
    pipeline: str
    stored_outcome: str
    stored_open_count: int
    derived_outcome: str
    derived_open_count: int


@dataclass(frozen=True, slots=True)
class MissingEntry:
    """Entry that has dispositions but no row.

    - `entry_id`, `pipeline`: the entry.
    - `disposition_count`: number of its dispositions.
    """

    entry_id: str
    pipeline: str
    disposition_count: int


@dataclass(frozen=True, slots=True)
class CountDifference:
    """Stored count that does not equal the number of rows it counts.

    - `group`: what is counted: counter name, pipeline and three values, "" if unused, as in
      `TallyRow`.
    - `stored_count`: the stored number; 0 if there is none.
    - `row_count`: number of rows that were counted.
    """

    group: tuple[str, str, str, str, str]
    stored_count: int
    row_count: int


LedgerDifference: TypeAlias = OutcomeDifference | MissingEntry | CountDifference
