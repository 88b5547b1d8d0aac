"""Proves from the stores that nothing was lost: every step adds up, and what is done is really there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fonds.audit.bodies import iter_remembered_faults
from fonds.audit.collections import check_collections
from fonds.audit.conservation import (
    NO_DEPTH,
    StepAccount,
    build_accounts,
    check_account,
    check_inputs,
)
from fonds.audit.derivatives import check_derivatives, check_endings
from fonds.audit.entries import check_entries
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.audit.files import check_files
from fonds.audit.places import ARCHIVE_BODY, check_places
from fonds.derivatives.kinds import count_expected
from fonds.grouping.changes.writer import CollectionWriter
from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.rows import FileMetaRow
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.ports import Stores
from fonds.stores.journal_table.cells import FILE_CDX, FILE_SIZE

FAULTS_MAX = 100
EXAMINED_MAX = 500
"""Rows of the table that are looked at to see whether files were read here."""


@dataclass(slots=True)
class AuditResult:
    """What the audit found: the steps of each pipeline, and its faults.

    `faults` are the first hundred, `missing_count` counts all, a message in no queue as one.
    """

    steps: dict[str, dict[str, StepAccount]] = field(default_factory=dict)
    faults: list[AuditFault] = field(default_factory=list)
    missing_count: int = 0

    @property
    def is_balanced(self) -> bool:
        """Whether everything adds up and everything done is there."""
        return self.missing_count == 0

    @property
    def fault_texts(self) -> list[str]:
        """What the faults say."""
        return [fault.message for fault in self.faults]

    def add_fault(self, fault: AuditFault, count: int = 1) -> None:
        """Note a fault."""
        self.missing_count += count
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


def run_audit(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    report_fault: Callable[[AuditFault], None] = lambda fault: None,
    changes: CollectionWriter | None = None,
) -> AuditResult:
    """Check the books of these pipelines, then what the stores hold; each comes with its subscriptions.

    Streams every row, reads no body; safe beside running workers, whose messages in hand count as
    pending. `report_fault` is told every fault, however many there are; `changes` are those of the
    collections there are, None where there is none."""
    began = datetime.now(UTC)
    found = audit_accounts(stores, pipelines, report_fault)
    for fault in _check_stores(stores, list(pipelines), began, _find_archiving_pipelines(found)):
        found.add_fault(fault)
        report_fault(fault)
    for fault in check_collections(changes) if changes is not None else ():
        found.add_fault(fault)
        report_fault(fault)
    return found


def audit_accounts(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    report_fault: Callable[[AuditFault], None] = lambda fault: None,
) -> AuditResult:
    """Check the books of these pipelines against their queue alone."""
    found = AuditResult()

    def note(fault: AuditFault, count: int = 1) -> None:
        found.add_fault(fault, count)
        report_fault(fault)

    # A message promised before `began` and unsettled after it was in the queue when that was counted;
    # of what is promised later nothing is known yet.
    began = datetime.now(UTC)
    depths = {
        (name, parse_subscription_name(one)[1]): stores.queue.get_depth(one)
        for name, readers in pipelines.items()
        for one in readers
    }
    entering = check_inputs(stores.records, list(pipelines), note)
    for (pipeline, step), account in build_accounts(stores.records, pipelines, began, note).items():
        spare, depth = entering.pop(pipeline, 0), depths.get((pipeline, step), NO_DEPTH)
        settled = check_account(pipeline, step, account, depth, spare, note)
        found.steps.setdefault(pipeline, {})[step] = settled
    for difference in stores.ledger.recount():
        note(_build_ledger_fault(difference))
    return found


def _check_stores(
    stores: Stores, pipelines: Sequence[str], started_at: datetime, archiving: Sequence[str] | None
) -> Iterator[AuditFault]:
    """Everything beside the books, in the order in which repairing goes on."""
    yield from check_entries(stores.records, pipelines, started_at)
    yield from check_endings(stores.records, started_at)
    try:
        indexed = stores.index.count()
    except ConfigurationError as error:
        indexed = 0
        yield AuditFault(AuditCheck.DOCUMENT, "", str(error))
    yield from _check_emptied(stores, indexed)
    yield from check_derivatives(stores, started_at)
    yield from _check_stray_documents(stores, indexed)
    yield from check_files(stores, started_at, archiving)
    yield from check_places(stores)
    yield from iter_remembered_faults(stores.records)


def _build_ledger_fault(message: str) -> AuditFault:
    """A difference the ledger told: an entry that is not on the books, or a count."""
    words = message.split(" ")
    if message.startswith("entry ") and "is not on the books" in message:
        return AuditFault(AuditCheck.ENTRY, words[1], message, words[2].strip("()"))
    return AuditFault(AuditCheck.COUNT, words[1] if len(words) > 1 else "", message)


def find_emptied_records(stores: Stores, count_indexed: Callable[[], int]) -> str | None:
    """What the records lack altogether while other stores are full; None when that is not so. Only empty
    records have the others asked."""
    if next(stores.records.find(FileMetaRow, count_max=1), None) is not None:
        return None
    # Rows of files that were read here have a size; what an index told, or a dump, is no loss of the records.
    columns = [FILE_SIZE, FILE_CDX]
    rows = stores.table.scan(stores.journal, count_max=EXAMINED_MAX, columns=columns)
    full = ["the table"] if any(FILE_SIZE in cells for _, cells in rows) else []
    indexed = count_indexed()
    full += [f"the index ({indexed} documents)"] if indexed else []
    if not full:
        return None
    return f"the records know no file, and {' and '.join(full)} do: they were lost, or are others'"


def _check_emptied(stores: Stores, indexed: int) -> Iterator[AuditFault]:
    if told := find_emptied_records(stores, lambda: indexed):
        yield AuditFault(AuditCheck.RECORDS_EMPTIED, "records", told)


def _check_stray_documents(stores: Stores, indexed: int) -> Iterator[AuditFault]:
    """`indexed` was counted first: rows only come to it since."""
    most = count_expected(stores.records)
    if indexed > most:
        told = f"the index holds {indexed} documents; the records know {most}"
        yield AuditFault(AuditCheck.DOCUMENT, "", told)


def _find_archiving_pipelines(result: AuditResult) -> list[str] | None:
    """The pipelines whose files all lie in a WARC by now; None while something is still on its way."""
    pending = any(account.pending for steps in result.steps.values() for account in steps.values())
    return (
        None if pending else [name for name, steps in result.steps.items() if ARCHIVE_BODY in steps]
    )


def build_json(result: AuditResult) -> dict[str, Any]:
    """The object of `fonds audit --json`."""
    return {
        "balanced": result.is_balanced,
        "missing": result.fault_texts,
        "missing_count": result.missing_count,
        "faults": [
            {
                "check": str(one.check),
                "subject": one.subject,
                "told": one.message,
                "remedy": one.remedy,
            }
            for one in result.faults
        ],
        "steps": {
            pipeline: {name: account.build_json() for name, account in steps.items()}
            for pipeline, steps in result.steps.items()
        },
    }
