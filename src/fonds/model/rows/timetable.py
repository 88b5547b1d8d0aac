"""The rows of tasks that recur, of what one process alone may do at a time, and of who is at work."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class TimetableRow:
    """`timetable`: one task that recurs, when it is due next, who does it and how it ended last.

    `pipeline` is the flavour it belongs to, '' for none. `claimed_by` names the process that does it now;
    `claimed_until` is for people: a claim ends when `beats`, which every change of its holder counts up,
    was seen to stand still. `runs` counts what came to an end, `failures` those since it last went well.
    """

    TABLE: ClassVar[str] = "timetable"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    pipeline: str
    every_s: int
    daily_at: str
    next_due: dt.datetime
    claimed_by: str | None
    claimed_until: dt.datetime | None
    beats: int
    last_started: dt.datetime | None
    last_finished: dt.datetime | None
    last_error: str | None
    failures: int
    runs: int


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """`claim`: something one process alone may do at a time, and who does it now, None for nobody.

    A claim ends when `beats`, which every change of its holder counts up, was seen to stand still.
    """

    TABLE: ClassVar[str] = "claim"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    claimed_by: str | None
    beats: int


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
