"""Faults of the ledger: outcomes and counts that do not agree with the recorded messages."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.audit.fault import AuditCheck, AuditFault
from fonds.model.ledger_difference import LedgerDifference, MissingEntry, OutcomeDifference
from fonds.model.tallies import SEAL
from fonds.ports.records import Ledger


def check_ledger(ledger: Ledger) -> Iterator[AuditFault]:
    """Yield a fault for each difference that a recount of the ledger finds, at most 1,000."""
    return map(_build_fault, ledger.recount())


def _build_fault(difference: LedgerDifference) -> AuditFault:
    if isinstance(difference, MissingEntry):
        entry_id, pipeline = difference.entry_id, difference.pipeline
        message = (
            f"entry {entry_id} ({pipeline}) is not in the ledger, but has "
            f"{difference.disposition_count} dispositions"
        )
        return AuditFault(AuditCheck.ENTRY, entry_id, message, pipeline)
    if isinstance(difference, OutcomeDifference):
        message = (
            f"entry {difference.entry_id} ({difference.pipeline}) is recorded as "
            f"{difference.stored_outcome} with {difference.stored_open_count} open; its "
            f"dispositions say {difference.derived_outcome} with "
            f"{difference.derived_open_count} open"
        )
        return AuditFault(AuditCheck.COUNT, difference.entry_id, message)
    if difference.group[0] == SEAL:
        table = difference.group[2]
        message = f"rows of {table} were changed, removed or added by another program"
        return AuditFault(AuditCheck.SEAL, table, message)
    message = (
        f"tally {' '.join(filter(None, difference.group))}: {difference.stored_count} is "
        f"recorded, but {difference.row_count} were counted"
    )
    return AuditFault(AuditCheck.COUNT, difference.group[0], message)
