"""What recurs in a home, and what is done then."""

from __future__ import annotations

import os
import secrets
import socket
import time
from datetime import timedelta
from pathlib import Path

from fonds.library.sweeping import sweep_files, sweep_stopped
from fonds.ports import Stores
from fonds.timetable import RecurringTask, Runner, Timetable
from fonds.wiring.steps import now

SWEEP = RecurringTask("sweep", daily_at="03:00", jitter_s=3600)
LEFT_FOR = timedelta(days=1)


def make_runner(stores: Stores, spool: Path) -> Runner:
    """What does the tasks of a home, not yet started; `spool` is its folder of passing files."""

    def sweep() -> str:
        rows = sweep_stopped(stores.records, now())
        files = sweep_files(spool, now() - LEFT_FOR)
        return f"{rows} expired rows and {files} old files removed"

    actions = {SWEEP: sweep}
    who = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    timetable = Timetable(stores.records, actions, who, now, time.monotonic)
    return Runner(timetable, {task.name: action for task, action in actions.items()})
