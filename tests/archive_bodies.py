"""The step `archive_body` over the stores of a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from fonds.ingest.steps.archive_body import LEASE_S, ArchiveBodyStep
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases


def create_archive_leases(records: Any, clock_s: Callable[[], float] = time.monotonic) -> Leases:
    """Leases for archiving, of a holder of its own."""
    return Leases(LeaseTable(records), create_worker_name(), clock_s, LEASE_S)


def create_archive_body(
    archive: Any, records: Any, table: Any, blobs: Any, journal: str, clock: Callable[[], datetime]
) -> ArchiveBodyStep:
    """The step as a process of its own."""
    leases = create_archive_leases(records)
    return ArchiveBodyStep(archive, records, table, blobs, journal, clock, leases)
