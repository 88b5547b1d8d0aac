"""Rows of the accounting: what was read, what entered, how each message ended, and the counts of it all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class InputRow:
    """`inputs`: one WARC, CDX, ZIP, feed or loose file a source reads into a pipeline, and how far it got.

    `fingerprint` is size and modification time: an input is read again when it changes. `position` is
    the source's own mark to go on from. `entries` counts what was emitted, `tally` what was counted
    and not emitted, by reason, and `tally_count` all of that. `error` says why reading it ended early.
    `pipeline` is filled by the intake.
    """

    TABLE: ClassVar[str] = "inputs"
    KEY: ClassVar[tuple[str, ...]] = ("input_id", "pipeline")
    input_id: str
    path: str
    kind: str
    fingerprint: str
    position: int
    entries: int
    tally: Mapping[str, int]
    tally_count: int
    finished: bool
    error: str | None
    updated: dt.datetime
    pipeline: str = ""


@dataclass(frozen=True, slots=True)
class EntryRow:
    """`entries`: everything that ever entered a pipeline, and what became of it over all its steps.

    `kind` is what it was when it came in (`capture`, `link`, `document`, …), `url` what it is called,
    `seen` its 14-digit time and `place` where its bytes lay, where it has them.
    `outcome` is `quarantined` if any message made of it is; else `pending` while one is open; else
    `dropped` if any was dropped; else `done`. `reason`, `step`, `message_id`, `about`, `detail` and
    `settled_at` are those of the disposition that decided, or of the heaviest so far; `open_count`
    counts the messages that are promised and not settled. `failure_group` is the group of what is
    quarantined (`model/tallies.py`). All of these are written by the ledger alone.
    """

    TABLE: ClassVar[str] = "entries"
    KEY: ClassVar[tuple[str, ...]] = ("entry_id", "pipeline")
    entry_id: str
    pipeline: str
    kind: str
    input_id: str
    url: str
    seen: str | None
    place: str | None
    collection: str
    entered_at: dt.datetime
    outcome: str = "pending"
    open_count: int = 0
    weight: int = 0
    reason: str | None = None
    step: str | None = None
    message_id: str | None = None
    about: str | None = None
    detail: str | None = None
    settled_at: dt.datetime | None = None
    failure_group: str | None = None


@dataclass(frozen=True, slots=True)
class DispositionRow:
    """`dispositions`: one message at one step: promised, or how it ended there.

    A message that was promised and has not ended is `pending`; `retried` and `deferred` ones are open
    too. `parent_id` and `parent_step` name the message and step that emitted it, None for the one that
    entered. `about` is what it is about: a file's SHA-1 in hex, a story's or a document's id.
    `next_attempt_at` is when a message that comes back is due, None for any other.
    """

    TABLE: ClassVar[str] = "dispositions"
    KEY: ClassVar[tuple[str, ...]] = ("message_id", "pipeline", "step")
    message_id: str
    pipeline: str
    step: str
    entry_id: str
    parent_id: str | None
    parent_step: str | None
    verdict: str
    is_open: bool
    reason: str | None
    detail: str
    about: str | None
    attempt: int
    promised_at: dt.datetime
    settled_at: dt.datetime | None
    next_attempt_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class TallyRow:
    """`tallies`: how many rows of a table have these values; kept in the transaction that changes them.

    `counted` is the table, or `failure_groups` for entries in quarantine by group, step and reason, or one of
    those by day and hour in `model/tallies.py`, or by source in `model/tallies.py`; `first`, `second` and
    `third` are what `stores/records/accounting/` counts by, '' for none.
    """

    TABLE: ClassVar[str] = "tallies"
    KEY: ClassVar[tuple[str, ...]] = ("counted", "pipeline", "first", "second", "third")
    counted: str
    pipeline: str
    first: str
    second: str
    third: str
    count: int


@dataclass(frozen=True, slots=True)
class FailureNoteRow:
    """`failure_notes`: what a person noted about a group of failures, and `owner`, whom it is left to.

    `step` and `reason` are the group's, so that the note can be told when none of its failures is left.
    `noted_by` is who wrote it last, as acts name them.
    """

    TABLE: ClassVar[str] = "failure_notes"
    KEY: ClassVar[tuple[str, ...]] = ("pipeline", "failure_group")
    pipeline: str
    failure_group: str
    step: str
    reason: str
    note: str
    owner: str
    noted_by: str
    noted_at: dt.datetime


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """`decisions`: what a person decided about failures, under a key of its own, so that it is done once.

    `act` is `retry` or `accept`. What it was about is a group or one entry, of one pipeline. `taken_by` is
    the request that did it; `ended_at` None until it is done, and `count` then says to how many messages.
    """

    TABLE: ClassVar[str] = "decisions"
    KEY: ClassVar[tuple[str, ...]] = ("decision_id",)
    decision_id: str
    act: str
    pipeline: str
    failure_group: str | None
    entry_id: str | None
    note: str
    taken_by: str
    begun_at: dt.datetime
    ended_at: dt.datetime | None
    count: int | None
