"""The rows of tasks that recur, of what one process alone may do at a time, and of who is at work."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class TimetableRow:
    """`timetable`: one task that recurs, when it is due next, who does it and how it ended last.

    `pipeline` is the flavour it belongs to, '' for none. `lease_holder` names the process that runs the task
    now, None for nobody. `lease_version` changes with every write of the lease. `runs` counts finished
    runs, `failures` those since the last success.
    """

    TABLE: ClassVar[str] = "timetable"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    pipeline: str
    every_s: int
    daily_at: str
    next_due: dt.datetime
    lease_holder: str | None
    lease_version: int
    last_started: dt.datetime | None
    last_finished: dt.datetime | None
    last_error: str | None
    failures: int
    runs: int


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """`lease`: what one process alone does now. `lease_version` changes with every write of the row."""

    TABLE: ClassVar[str] = "lease"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    lease_holder: str | None
    lease_version: int


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """`workers`: a process that works a step, and its last sign of life; gone when it was told to stop.

    `worker` names the process and nobody else, ever (`process_identity.py`). `seen` is when it last wrote
    this row, by its own clock, every `every_s` seconds; `ended` counts the messages it has settled at this
    step, and `last_ended` is when the last of them was, None when none was. `trouble` is what the step waits
    for, None for nothing.
    """

    TABLE: ClassVar[str] = "workers"
    KEY: ClassVar[tuple[str, ...]] = ("worker", "step")
    worker: str
    step: str
    pipeline: str
    started: dt.datetime
    seen: dt.datetime
    every_s: int
    ended: int
    last_ended: dt.datetime | None
    trouble: str | None


# Rows of who may do what, and of who did it.


@dataclass(frozen=True, slots=True)
class AccessKeyRow:
    """`access_keys`: a key of the pages and the service; of its secret only what it is known by.

    `name` is never given out again. `prefix` begins the secret and is no secret itself; `sha256hex` is of
    the whole secret. `role` is one of `model/access.py`. Not taken from `until` on, None: no end.
    `last_used` is behind the truth by ten minutes at most. A revoked key stays, with when, by whom and why.
    """

    TABLE: ClassVar[str] = "access_keys"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    role: str
    prefix: str
    sha256hex: str
    made_by: str
    row_created: dt.datetime
    until: dt.datetime | None = None
    last_used: dt.datetime | None = None
    revoked: dt.datetime | None = None
    revoked_by: str | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`sessions`: a browser that showed a key, until it signs out or `until`; gone with its key.

    `session_id` and a secret make the cookie; `sha256hex` is of the whole cookie.
    """

    TABLE: ClassVar[str] = "sessions"
    KEY: ClassVar[tuple[str, ...]] = ("session_id",)
    session_id: str
    sha256hex: str
    key_name: str
    row_created: dt.datetime
    until: dt.datetime


@dataclass(frozen=True, slots=True)
class ActRow:
    """`acts`: what somebody changed, or was about to when `outcome` is None.

    `who` names a key, or after `local:` who was logged in at this machine; empty: whoever reached the pages
    where nobody made a key. `what` is a method and address without its query, or a command; `outcome` is the
    HTTP status, of a command 200 where it was done and 400 where it was refused.
    """

    TABLE: ClassVar[str] = "acts"
    KEY: ClassVar[tuple[str, ...]] = ("act_id",)
    act_id: str
    at: dt.datetime
    who: str
    what: str
    outcome: int | None = None


# Rows of what proves the rest: fixity, what the deep audit found, and how far it got.


@dataclass(frozen=True, slots=True)
class FixityRow:
    """`fixity`: size and SHA-256 of one part of what was made of a file, as they were when it was written.

    `part` is a table, for the file's row in it, or what `derivatives/fixity.py` calls a blob of the file.
    Written in one transaction with the row."""

    TABLE: ClassVar[str] = "fixity"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "part")
    sha1hex: str
    part: str
    size_bytes: int
    sha256hex: str


@dataclass(frozen=True, slots=True)
class FaultRow:
    """`faults`: what the deep audit found of a file and did not find mended since.

    `check` is the word for it (`audit/fault.py`), `told` the sentence.
    """

    TABLE: ClassVar[str] = "faults"
    KEY: ClassVar[tuple[str, ...]] = ("subject", "told")
    subject: str
    told: str
    check: str
    found_at: dt.datetime


@dataclass(frozen=True, slots=True)
class DeepAuditRow:
    """`deep_audits`: how far a round of the deep audit got through the files, which it reads by SHA-1.

    `last_key` is the last file it was through with, '' before the first; `checked` and `found` count files
    and faults of this round. A round that is finished is followed by the next.
    """

    TABLE: ClassVar[str] = "deep_audits"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    last_key: str
    checked: int
    found: int
    started: dt.datetime
    updated: dt.datetime
    finished: bool
