"""The rows of tasks that recur, and of what one process alone may do at a time."""

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
