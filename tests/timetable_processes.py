"""Processes on a virtual clock that share one timetable."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fonds.model.rows import TimetableRow
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Timetable
from fonds.ports import Records

NOON = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)
LEASE_S = 60.0


@dataclass
class World:
    """A wall clock that may jump, and a monotonic one."""

    records: Records
    wall: datetime = NOON
    seconds: float = 0.0
    names: int = 0
    tables: list[Timetable] = field(default_factory=list)

    def pass_s(self, seconds: float) -> None:
        self.seconds += seconds
        self.wall += timedelta(seconds=seconds)

    def jump(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)

    def process(self, *tasks: RecurringTask, records: Records | None = None) -> Timetable:
        """Add a process with these tasks."""
        self.names += 1
        table = Timetable(
            records or self.records,
            tasks,
            f"host:{self.names}",
            lambda: self.wall,
            lambda: self.seconds,
            LEASE_S,
        )
        table.enter()
        self.tables.append(table)
        return table

    def row(self, name: str) -> TimetableRow:
        (row,) = self.records.get(TimetableRow, [name])
        return row


def do(table: Timetable, error: str | None = None) -> list[str]:
    """Run the due tasks of a process once; return the names of the finished ones."""
    finished_names = []
    for name in table.list_due():
        lease = table.acquire(name)
        if lease is not None and table.finish(lease, error):
            finished_names.append(name)
    return finished_names
