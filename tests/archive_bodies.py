"""Build the step `archive_body` on the stores of a test."""

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
    """Create archiving leases under a new worker name."""
    return Leases(LeaseTable(records), create_worker_name(), clock_s, LEASE_S)


def create_archive_body(
    archive: Any, records: Any, table: Any, blobs: Any, journal: str, clock: Callable[[], datetime]
) -> ArchiveBodyStep:
    """Create the step with its own leases, as in a separate process."""
    leases = create_archive_leases(records)
    return ArchiveBodyStep(archive, records, table, blobs, journal, clock, leases)
