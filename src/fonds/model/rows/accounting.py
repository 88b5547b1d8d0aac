"""Rows of the accounting tables, which record what became of everything that entered a pipeline.

The tables store inputs, entries, how each message ended, counts by reason, and decisions and notes
of people about failures.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class InputRow:
    """Row of `inputs`: a WARC, CDX, ZIP, feed or loose file that is read into a pipeline.

    - `fingerprint`: size and modification time of the input. A changed input is read again.
    - `position`: how far the input has been read, in a unit of its source.
    - `entries`: number of entries emitted to the pipeline.
    - `tally`: number of items counted but not emitted, by reason.
    - `tally_count`: sum of `tally`.
    - `error`: why reading ended early; None if it did not.
    - `pipeline`: name of the pipeline.
    - `checksum`: hash of the other columns, which the ledger computes. After a change by another
      program it stays wrong, until a repair reads the input again.
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
    checksum: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class EntryRow:
    """Row of `entries`: one capture, link or message that entered a pipeline, with its outcome over
    all steps.

    The ledger computes the columns from `outcome` on from the dispositions of the entry's messages.
    """

    TABLE: ClassVar[str] = "entries"
    KEY: ClassVar[tuple[str, ...]] = ("entry_id", "pipeline")
    entry_id: Annotated[str, Meta(description="id of the entry")]
    pipeline: Annotated[str, Meta(description="pipeline that it entered")]
    kind: Annotated[str, Meta(description="what it was when it entered: capture, link or message")]
    input_id: Annotated[str, Meta(description="id of the input")]
    url: Annotated[str, Meta(description="URL or path, as shown to people")]
    seen: Annotated[str | None, Meta(description="time of the capture, 14 digits")]
    place: Annotated[str | None, Meta(description="location of the bytes")]
    collection: Annotated[str, Meta(description="collection named when it was ingested")]
    entered_at: Annotated[dt.datetime, Meta(description="when it entered")]
    outcome: Annotated[
        str,
        Meta(
            description="quarantined if any message made from it is; else pending while one is open; "
            "else dropped if any was dropped; else done"
        ),
    ] = "pending"
    open_count: Annotated[int, Meta(description="number of messages that are not settled")] = 0
    weight: Annotated[
        int, Meta(description="weight of the outcome; the heaviest disposition decides it")
    ] = 0
    reason: Annotated[
        str | None, Meta(description="reason of the outcome; see docs/reasons.md")
    ] = None
    step: Annotated[str | None, Meta(description="step that decided the outcome")] = None
    message_id: Annotated[str | None, Meta(description="message that decided the outcome")] = None
    about: Annotated[str | None, Meta(description="SHA-1 or id of the subject of that message")] = (
        None
    )
    detail: Annotated[str | None, Meta(description="details of the reason")] = None
    settled_at: Annotated[dt.datetime | None, Meta(description="when the outcome was decided")] = (
        None
    )
    failure_group: Annotated[
        str | None, Meta(description="failure group of a quarantined entry")
    ] = None


@dataclass(frozen=True, slots=True)
class DispositionRow:
    """Row of `dispositions`: one message at one step, pending or ended.

    - `verdict`: how the message ended; `pending` for a message that has not ended.
    - `is_open`: whether the message still needs work; true for `pending`, `retried` and `deferred`.
    - `parent_id`, `parent_step`: message and step that emitted this message; None for the first
      message of an entry.
    - `about`: subject of the message: SHA-1 of a file in hex, or the id of a story or document.
    - `next_attempt_at`: when a retried or deferred message is delivered again; None for others.
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
    """Row of `tallies`: a stored count of rows of another table by up to three values.

    The count is updated in the same transaction as the counted rows.

    - `counted`: name of the counted table, `failure_groups` for quarantined entries by group, step
      and reason, or another name in `model/tallies.py`.
    - `first`, `second`, `third`: the values by which `stores/records/counters.py` counts; "" for
      none.
    - `count`: number of rows with these values.
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
    """Row of `failure_notes`: note of a person about a group of failures.

    - `owner`: person who takes care of the failures.
    - `step`, `reason`: step and reason of the group, so that the note can be shown when the group
      has no failure any more.
    - `noted_by`: user who wrote the note last.
    """

    TABLE: ClassVar[str] = "failure_notes"
    KEY: ClassVar[tuple[str, ...]] = ("pipeline", "failure_group")
    SEALED: ClassVar[bool] = True
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
    """Row of `decisions`: a decision of a person to retry or accept failures. The row's key ensures
    that the decision is carried out once.

    - `act`: `retry` or `accept`.
    - `failure_group`, `entry_id`: the failure group or the single entry of the pipeline to which
      the decision applies; the other of the two is None.
    - `taken_by`: random id of the attempt that carries the decision out, so that only one attempt
      does.
    - `ended_at`: time at which the decision was carried out; None until then.
    - `count`: number of messages that were retried or accepted; None until then.
    """

    TABLE: ClassVar[str] = "decisions"
    KEY: ClassVar[tuple[str, ...]] = ("decision_id",)
    SEALED: ClassVar[bool] = True
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
