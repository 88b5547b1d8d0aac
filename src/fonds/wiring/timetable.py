"""Recurring maintenance of a library: cleanup, and a daily share of the deep audit."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from math import ceil
from pathlib import Path

from fonds.audit.bodies import DeepAudit
from fonds.audit.repair.cleanup import (
    sweep_files,
    sweep_polls,
    sweep_spool,
    sweep_stopped,
)
from fonds.failures.accounting.tallies import count_files_by_type
from fonds.isolation.process_identity import create_worker_name
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Runner, Timetable
from fonds.ports import Stores
from fonds.wiring.stores import get_utc_now

SWEEP = RecurringTask("sweep", daily_at="03:00", jitter_s=3600)
AUDIT = RecurringTask("deep-audit", daily_at="04:00", jitter_s=3600)
LEFTOVER_AGE = timedelta(days=1)
POLL_RETENTION = timedelta(days=90)
"""Time for which a poll's row is kept if the poll neither entered nor rejected a link."""


logger = logging.getLogger("fonds.pipelines.runtime")


def create_runner(stores: Stores, spool: Path, audit_days: int) -> Runner:
    """Create the runner of the daily maintenance tasks of a library, without starting it.

    `spool`: folder of temporary files, in which files older than a day are deleted.
    `audit_days`: number of days in which the deep audit reads and hashes every file once.
    """

    def sweep() -> str:
        rows = sweep_stopped(stores.records, get_utc_now())
        polls = sweep_polls(stores.records, get_utc_now() - POLL_RETENTION)
        files = sweep_files(spool, get_utc_now() - LEFTOVER_AGE)
        pages = sweep_spool(stores.records, stores.blobs, get_utc_now() - LEFTOVER_AGE)
        summary = (
            f"{rows} expired rows, {polls} old polls, {files} old files and {pages} refused pages"
        )
        return f"{summary} removed"

    def audit() -> str:
        total = sum(count for _, count in count_files_by_type(stores.records))
        share = DeepAudit(stores, get_utc_now, lambda: False)
        state = share.run(max(1, ceil(total / audit_days)), lambda _: None)
        summary = f"{state.checked} of {total} files read and hashed, {state.found} faults"
        if state.found:
            logger.warning("%s: `fonds audit` names them", summary)
        return summary

    actions = {SWEEP: sweep, AUDIT: audit}
    timetable = Timetable(
        stores.records, actions, create_worker_name(), get_utc_now, time.monotonic
    )
    return Runner(timetable, {task.name: action for task, action in actions.items()})
