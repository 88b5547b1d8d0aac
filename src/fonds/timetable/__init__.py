"""What recurs: when it is due, who does it, and how it ended."""

from fonds.timetable.claims import Timetable
from fonds.timetable.runner import Runner
from fonds.timetable.schedule import RecurringTask

__all__ = ["RecurringTask", "Runner", "Timetable"]
