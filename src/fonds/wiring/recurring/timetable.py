"""What recurs in a home, and what is done then."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from math import ceil
from pathlib import Path

from fonds.library.accounting import files_by_type
from fonds.library.checks.bodies import DeepAudit
from fonds.library.repair.sweeping import sweep_files, sweep_polls, sweep_spool, sweep_stopped
from fonds.ports import Stores
from fonds.process_identity import this_process
from fonds.timetable import RecurringTask, Runner, Timetable
from fonds.wiring.backends import now

SWEEP = RecurringTask("sweep", daily_at="03:00", jitter_s=3600)
AUDIT = RecurringTask("deep-audit", daily_at="04:00", jitter_s=3600)
LEFT_FOR = timedelta(days=1)
POLLS_KEPT_FOR = timedelta(days=90)
"""Polls that entered and refused nothing are kept so long."""


logger = logging.getLogger("fonds.timetable")


def make_runner(stores: Stores, spool: Path, audit_days: int) -> Runner:
    """What does the tasks of a home, not yet started; `spool` is its folder of passing files. Everything is
    read and hashed once in `audit.days`."""

    def sweep() -> str:
        rows = sweep_stopped(stores.records, now())
        polls = sweep_polls(stores.records, now() - POLLS_KEPT_FOR)
        files = sweep_files(spool, now() - LEFT_FOR)
        refused = sweep_spool(stores.records, stores.blobs, now() - LEFT_FOR)
        told = (
            f"{rows} expired rows, {polls} old polls, {files} old files and {refused} refused pages"
        )
        return f"{told} removed"

    def audit() -> str:
        total = sum(count for _, count in files_by_type(stores.records))
        share = DeepAudit(stores, now, lambda: False)
        state = share.run(max(1, ceil(total / audit_days)), lambda _: None)
        told = f"{state.checked} of {total} files read and hashed, {state.found} faults"
        if state.found:
            logger.warning("%s: `fonds audit` names them", told)
        return told

    actions = {SWEEP: sweep, AUDIT: audit}
    timetable = Timetable(stores.records, actions, this_process(), now, time.monotonic)
    return Runner(timetable, {task.name: action for task, action in actions.items()})
