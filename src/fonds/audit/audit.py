"""The audit: proves from the stores that nothing was lost.

The accounts of each step must balance, and everything recorded as done must exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from fonds.audit.bodies import iter_remembered_faults
from fonds.audit.collections import check_collections
from fonds.audit.conservation import (
    NO_DEPTH,
    StepAccount,
    StepReport,
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
"""Maximum table rows examined to see whether files were read here."""


@dataclass(slots=True)
class AuditResult:
    """Result of the audit.

    `steps`: message counts of each step, by pipeline and step.
    `faults`: the first hundred faults.
    `missing_count`: number of all faults; each message that is in no queue counts as one.
    """

    steps: dict[str, dict[str, StepAccount]] = field(default_factory=dict)
    faults: list[AuditFault] = field(default_factory=list)
    missing_count: int = 0

    @property
    def is_balanced(self) -> bool:
        """Whether the audit found no fault."""
        return self.missing_count == 0

    @property
    def fault_texts(self) -> list[str]:
        """Sentences that describe the first hundred faults."""
        return [fault.message for fault in self.faults]

    def add_fault(self, fault: AuditFault, count: int = 1) -> None:
        """Add a fault. `count` is the number of faults it counts as, such as the number of lost
        messages.
        """
        self.missing_count += count
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


class FaultReport(msgspec.Struct, frozen=True):
    """A fault, described for people by `message`."""

    check: str
    subject: str
    message: str
    remedy: str


class AuditReport(msgspec.Struct, frozen=True):
    """Report of an audit."""

    balanced: Annotated[
        bool, Meta(description="whether everything is accounted for and still present")
    ]
    missing: Annotated[Sequence[str], Meta(description="the first hundred faults, as text")]
    missing_count: Annotated[
        int,
        Meta(description="number of faults; each message that is in no queue is one"),
    ]
    faults: Annotated[Sequence[FaultReport], Meta(description="the first hundred faults")]
    steps: Annotated[
        Mapping[str, Mapping[str, StepReport]],
        Meta(description="number of messages by pipeline, step and outcome"),
    ]


def run_audit(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    report_fault: Callable[[AuditFault], None] = lambda fault: None,
    changes: CollectionWriter | None = None,
) -> AuditResult:
    """Check the message accounting of some pipelines, then the contents of the stores.

    `pipelines`: subscriptions by pipeline.
    `report_fault`: receives every fault, without a limit.
    `changes`: access to the collections; None if there are none.

    Reads all rows one after the other, and no bodies. Workers may keep running: messages being
    processed count as pending.
    """
    started_at = datetime.now(UTC)
    result = audit_accounts(stores, pipelines, report_fault)
    for fault in _check_stores(
        stores, list(pipelines), started_at, _find_archiving_pipelines(result)
    ):
        result.add_fault(fault)
        report_fault(fault)
    for fault in check_collections(changes) if changes is not None else ():
        result.add_fault(fault)
        report_fault(fault)
    return result


def audit_accounts(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    report_fault: Callable[[AuditFault], None] = lambda fault: None,
) -> AuditResult:
    """Check the message accounting of some pipelines against the queues, without the contents of
    the stores.
    """
    result = AuditResult()

    def note(fault: AuditFault, count: int = 1) -> None:
        result.add_fault(fault, count)
        report_fault(fault)

    # A message promised before `started_at` and unsettled after it was in the queue when the queue
    # was counted. Later messages are not checked yet.
    started_at = datetime.now(UTC)
    depths = {
        (name, parse_subscription_name(subscription)[1]): stores.queue.get_depth(subscription)
        for name, readers in pipelines.items()
        for subscription in readers
    }
    entering = check_inputs(stores.records, list(pipelines), note)
    for (pipeline, step), account in build_accounts(
        stores.records, pipelines, started_at, note
    ).items():
        unclaimed, depth = entering.pop(pipeline, 0), depths.get((pipeline, step), NO_DEPTH)
        settled = check_account(pipeline, step, account, depth, unclaimed, note)
        result.steps.setdefault(pipeline, {})[step] = settled
    for difference in stores.ledger.recount():
        note(_build_ledger_fault(difference))
    return result


def _check_stores(
    stores: Stores, pipelines: Sequence[str], started_at: datetime, archiving: Sequence[str] | None
) -> Iterator[AuditFault]:
    """Yield the faults in the contents of the stores, in the order in which they are repaired."""
    yield from check_entries(stores.records, pipelines, started_at)
    yield from check_endings(stores.records, started_at)
    try:
        indexed_count = stores.index.count()
    except ConfigurationError as error:
        indexed_count = 0
        yield AuditFault(AuditCheck.DOCUMENT, "", str(error))
    yield from _check_emptied(stores, indexed_count)
    yield from check_derivatives(stores, started_at)
    yield from _check_stray_documents(stores, indexed_count)
    yield from check_files(stores, started_at, archiving)
    yield from check_places(stores)
    yield from iter_remembered_faults(stores.records)


def _build_ledger_fault(message: str) -> AuditFault:
    """Build the fault for a difference in the ledger: an unrecorded entry or a wrong count."""
    words = message.split(" ")
    if message.startswith("entry ") and "is not in the ledger" in message:
        return AuditFault(AuditCheck.ENTRY, words[1], message, words[2].strip("()"))
    return AuditFault(AuditCheck.COUNT, words[1] if len(words) > 1 else "", message)


def find_emptied_records(stores: Stores, count_indexed: Callable[[], int]) -> str | None:
    """Return a message if the records are empty although other stores are not, else None.

    The other stores are queried only if the records are empty.
    """
    if next(stores.records.find(FileMetaRow, count_max=1), None) is not None:
        return None
    # Rows of files read here have a size. Rows from an index or a dump are no sign of lost records.
    columns = [FILE_SIZE, FILE_CDX]
    rows = stores.table.scan(stores.journal, count_max=EXAMINED_MAX, columns=columns)
    filled_stores = ["the table"] if any(FILE_SIZE in cells for _, cells in rows) else []
    indexed_count = count_indexed()
    filled_stores += [f"the index ({indexed_count} documents)"] if indexed_count else []
    if not filled_stores:
        return None
    return (
        f"the records contain no files, but {' and '.join(filled_stores)} do. The "
        "records were lost, or the stores belong to another library"
    )


def _check_emptied(stores: Stores, indexed: int) -> Iterator[AuditFault]:
    if message := find_emptied_records(stores, lambda: indexed):
        yield AuditFault(AuditCheck.RECORDS_EMPTIED, "records", message)


def _check_stray_documents(stores: Stores, indexed: int) -> Iterator[AuditFault]:
    """`indexed` was counted before the records, which can only grow meanwhile."""
    expected_max = count_expected(stores.records)
    if indexed > expected_max:
        message = (
            f"the index contains {indexed} documents, but the records list only {expected_max}"
        )
        yield AuditFault(AuditCheck.DOCUMENT, "", message)


def _find_archiving_pipelines(result: AuditResult) -> list[str] | None:
    """Return the pipelines whose files must all be in a WARC by now.

    Returns None while messages are pending.
    """
    pending = any(account.pending for steps in result.steps.values() for account in steps.values())
    return (
        None if pending else [name for name, steps in result.steps.items() if ARCHIVE_BODY in steps]
    )


def build_report(result: AuditResult) -> AuditReport:
    """Build the report of an audit."""
    return AuditReport(
        balanced=result.is_balanced,
        missing=result.fault_texts,
        missing_count=result.missing_count,
        faults=[
            FaultReport(str(fault.check), fault.subject, fault.message, fault.remedy)
            for fault in result.faults
        ],
        steps={
            pipeline: {name: account.build_report() for name, account in steps.items()}
            for pipeline, steps in result.steps.items()
        },
    )
