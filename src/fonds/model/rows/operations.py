"""Rows for recurring tasks, leases, workers, access control, fixity and the deep audit."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class TimetableRow:
    """Row of `timetable`: a recurring task, with its due time, lease and last result.

    - `pipeline`: flavour to which the task belongs; "" for none.
    - `lease_holder`: process that runs the task; None while it does not run.
    - `lease_version`: number that changes with every write of the lease.
    - `runs`: number of completed runs.
    - `failures`: number of failed runs since the last success.
    """

    TABLE: ClassVar[str] = "timetable"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    SEALED: ClassVar[bool] = True
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
    """Row of `lease`: a time-limited right of one process to do some work.

    - `name`: name of the work.
    - `lease_holder`: process that has the lease; None if the lease is free.
    - `lease_version`: number that changes with every write of the row.
    """

    TABLE: ClassVar[str] = "lease"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    lease_holder: str | None
    lease_version: int


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """Row of `workers`: heartbeat of a process that runs a step.

    The process deletes its row when it stops in the normal way.

    - `worker`: id of the process, which no other process ever has
      (`isolation/process_identity.py`).
    - `seen`: time of the last heartbeat, by the clock of the process. It is sent every `every_s`
      seconds.
    - `ended`: number of messages that the process settled at this step.
    - `last_ended`: time of the last of them; None if there is none.
    - `trouble`: what the step waits for, such as a server that does not answer or a worker of a
      newer version; None for nothing.
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


# Access control: keys, sessions and actions.


@dataclass(frozen=True, slots=True)
class AccessKeyRow:
    """Row of `access_keys`: an access key for the web pages and the API. Its secret is not stored.

    - `name`: name of the key, which is never reused.
    - `role`: role of its user, as in `model/access.py`.
    - `prefix`: public first characters of the secret.
    - `sha256hex`: SHA-256 of the whole secret in hex.
    - `made_by`: user who created the key.
    - `until`: time at which the key expires; None means never.
    - `last_used`: time of the last use, at most ten minutes out of date; None if unused.
    - `revoked`, `revoked_by`, `revoked_reason`: time, user and reason of the revocation; None while
      the key is valid. The row of a revoked key is kept.
    """

    TABLE: ClassVar[str] = "access_keys"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    SEALED: ClassVar[bool] = True
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
    """Row of `sessions`: a browser that signed in with an access key, until it signs out or
    `until`.

    The row is deleted when its key is revoked. The cookie consists of `session_id` and a secret.

    - `sha256hex`: SHA-256 of the whole cookie in hex.
    - `key_name`: name of the access key.
    """

    TABLE: ClassVar[str] = "sessions"
    KEY: ClassVar[tuple[str, ...]] = ("session_id",)
    SEALED: ClassVar[bool] = True
    session_id: str
    sha256hex: str
    key_name: str
    row_created: dt.datetime
    until: dt.datetime


@dataclass(frozen=True, slots=True)
class ActRow:
    """Row of `acts`: an action of a user, for the log of actions."""

    TABLE: ClassVar[str] = "acts"
    KEY: ClassVar[tuple[str, ...]] = ("act_id",)
    SEALED: ClassVar[bool] = True
    act_id: Annotated[str, Meta(description="id of the action")]
    at: Annotated[dt.datetime, Meta(description="when it started")]
    who: Annotated[
        str,
        Meta(
            description="name of a key, or `local:` and the login name; empty for visitors of the"
            " pages while there was no key"
        ),
    ]
    what: Annotated[str, Meta(description="HTTP method and path without query, or a command")]
    outcome: Annotated[
        int | None,
        Meta(
            description="HTTP status; for a command 200 if it succeeded and 400 if it was refused;"
            " null if it did not end"
        ),
    ] = None


# Integrity: fixity, and progress and findings of the deep audit.


@dataclass(frozen=True, slots=True)
class FixityRow:
    """Row of `fixity`: size and SHA-256 of data derived from a file, recorded when the data was
    written.

    The row is written in one transaction with the data.

    - `sha1hex`: SHA-1 of the file from which the data was derived.
    - `part`: which data it is: name of the table that has the derived row, name of a blob, or
      column family of the wide table (`derivatives/fixity.py`).
    - `size_bytes`, `sha256hex`: size and SHA-256 of the data.
    """

    TABLE: ClassVar[str] = "fixity"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex", "part")
    sha1hex: str
    part: str
    size_bytes: int
    sha256hex: str


@dataclass(frozen=True, slots=True)
class FaultRow:
    """Row of `faults`: a problem that the deep audit found in a file and has not found repaired
    since.

    - `subject`: id of the file.
    - `message`: sentence that describes the problem for people.
    - `check`: code of the check that failed (`audit/fault.py`).
    """

    TABLE: ClassVar[str] = "faults"
    KEY: ClassVar[tuple[str, ...]] = ("subject", "message")
    subject: str
    message: str
    check: str
    found_at: dt.datetime


@dataclass(frozen=True, slots=True)
class DeepAuditRow:
    """Row of `deep_audits`: progress of a deep audit, which checks all files in order of SHA-1.

    - `last_key`: SHA-1 of the last file checked; "" before the first.
    - `checked`: number of files checked in this round.
    - `found`: number of faults found in this round.

    The next round starts when this round is finished.
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
