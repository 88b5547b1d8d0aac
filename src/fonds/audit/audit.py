"""The audit: checks from the stores alone that Fonds lost nothing.

For each pipeline step, the number of received messages must equal the sum of the done, dropped,
quarantined and pending ones. Every result that the ledger records as done must exist in the stores.
"""

from __future__ import annotations

from collections import Counter
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
from fonds.audit.ledger import check_ledger
from fonds.audit.places import ARCHIVE_BODY, check_places
from fonds.derivatives.kinds import count_expected
from fonds.grouping.changes.writer import CollectionWriter
from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.rows import FileMetaRow
from fonds.papers.catalog.check import iter_catalog_faults
from fonds.papers.catalog.store import Catalog
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.ports import Stores
from fonds.stores.journal_table.cells import FILE_CDX, FILE_SIZE

FAULTS_MAX = 100
"""Maximum number of faults of one check in a result, by default."""
TABLE_ROWS_MAX = 500
"""Maximum rows of the wide-column table that are searched for an ingested file."""


@dataclass(slots=True)
class AuditResult:
    """Result of an audit: message counts and faults.

    `steps`: message counts by pipeline name, then by step name.
    `faults`: the first faults of each check.
    `fault_count`: number of all faults, listed or not. Each message that is missing from its queue
        or from the quarantine counts as one.
    `check_counts`: number of faults of each check, listed or not. Messages that are missing from
        one queue are one fault.
    `faults_max`: maximum number of listed faults of one check; None for all.
    """

    steps: dict[str, dict[str, StepAccount]] = field(default_factory=dict)
    faults: list[AuditFault] = field(default_factory=list)
    fault_count: int = 0
    check_counts: Counter[AuditCheck] = field(default_factory=Counter)
    faults_max: int | None = FAULTS_MAX

    @property
    def is_balanced(self) -> bool:
        """Whether the audit found no fault."""
        return self.fault_count == 0

    @property
    def fault_texts(self) -> list[str]:
        """Sentences that describe the listed faults of the audit."""
        return [fault.message for fault in self.faults]

    def add_fault(self, fault: AuditFault, count: int = 1) -> None:
        """Add a fault to the result of the audit. Only the first faults of each check are stored.

        `count` is the number of faults that this fault counts as, such as the number of missing
        messages.
        """
        self.fault_count += count
        self.check_counts[fault.check] += 1
        if self.faults_max is None or self.check_counts[fault.check] <= self.faults_max:
            self.faults.append(fault)

    def group_faults(self) -> dict[AuditCheck, list[AuditFault]]:
        """Return the listed faults by check, in the order in which the checks failed first."""
        groups: dict[AuditCheck, list[AuditFault]] = {}
        for fault in self.faults:
            groups.setdefault(fault.check, []).append(fault)
        return groups


class FaultReport(msgspec.Struct, frozen=True):
    """One fault of an audit, as shown to users.

    `check`: name of the check that failed, a value of `AuditCheck`.
    `subject`: the faulty file, entry, message, input, WARC, step or collection.
    `message`: sentence that describes the fault.
    `remedy`: sentence that says how to repair it.
    """

    check: str
    subject: str
    message: str
    remedy: str


class AuditReport(msgspec.Struct, frozen=True):
    """Result of an audit, as shown to users: whether it found no fault, the faults, and message
    counts.
    """

    balanced: Annotated[
        bool, Meta(description="whether everything is accounted for and still present")
    ]
    missing: Annotated[Sequence[str], Meta(description="the faults listed in `faults`, as text")]
    fault_count: Annotated[
        int,
        Meta(
            description="number of faults; each message that is missing from its queue or from the "
            "quarantine is one"
        ),
    ]
    faults: Annotated[
        Sequence[FaultReport],
        Meta(description="the first hundred faults of each check; with --all, all faults"),
    ]
    check_counts: Annotated[
        Mapping[str, int],
        Meta(
            description="number of faults by check, listed or not; messages that are missing from "
            "one queue are one fault"
        ),
    ]
    steps: Annotated[
        Mapping[str, Mapping[str, StepReport]],
        Meta(description="number of messages by pipeline, step and outcome"),
    ]


def run_audit(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    report_fault: Callable[[AuditFault], None] = lambda fault: None,
    collection_writer: CollectionWriter | None = None,
    catalog: Catalog | None = None,
    *,
    faults_max: int | None = FAULTS_MAX,
) -> AuditResult:
    """Run the complete audit: message accounting, then the contents of the stores, then
    collections and the catalogue.

    `pipelines`: the subscriptions to check, by pipeline name.
    `report_fault`: called with every fault, without a limit.
    `collection_writer`: writer of the collections; None if the library has no collections.
    `catalog`: catalogue to read completely, for a deep audit; None to skip it.
    `faults_max`: maximum number of faults of one check in the result; None for all.

    Returns the counts and the first faults of each check. The audit reads rows but no bodies.
    Workers may keep running: messages that they are processing count as pending.
    """
    started_at = datetime.now(UTC)
    result = audit_accounts(stores, pipelines, report_fault, faults_max=faults_max)
    for fault in _check_stores(
        stores, list(pipelines), started_at, _find_archiving_pipelines(result)
    ):
        result.add_fault(fault)
        report_fault(fault)
    for fault in check_collections(collection_writer) if collection_writer is not None else ():
        result.add_fault(fault)
        report_fault(fault)
    if catalog is not None:
        for message in iter_catalog_faults(catalog):
            fault = AuditFault(AuditCheck.CATALOG, catalog.name, message)
            result.add_fault(fault)
            report_fault(fault)
    return result


def audit_accounts(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    report_fault: Callable[[AuditFault], None] = lambda fault: None,
    *,
    faults_max: int | None = FAULTS_MAX,
) -> AuditResult:
    """Compare the ledger with the queues, the quarantine and the inputs, and check the ledger
    itself. No other store is checked.

    `pipelines`: the subscriptions whose messages are checked, by pipeline name.
    `report_fault`: called with every fault, without a limit.
    `faults_max`: maximum number of faults of one check in the result; None for all.

    Returns the message counts by pipeline and step, and the first faults of each check.
    """
    result = AuditResult(faults_max=faults_max)

    def add_fault(fault: AuditFault, count: int = 1) -> None:
        result.add_fault(fault, count)
        report_fault(fault)

    # A message sent before `started_at` that has no outcome later was in the queue when the queue
    # was counted. Messages sent after `started_at` are not checked.
    started_at = datetime.now(UTC)
    depths = {
        (pipeline, parse_subscription_name(subscription)[1]): stores.queue.get_depth(subscription)
        for pipeline, subscriptions in pipelines.items()
        for subscription in subscriptions
    }
    entering_counts = check_inputs(stores.records, list(pipelines), add_fault)
    counters = build_accounts(stores.records, pipelines, started_at, add_fault)
    for (pipeline, step), counter in counters.items():
        # Entries that may have no message yet count once per pipeline, at its first step.
        entering_count = entering_counts.pop(pipeline, 0)
        depth = depths.get((pipeline, step), NO_DEPTH)
        account = check_account(pipeline, step, counter, depth, entering_count, add_fault)
        result.steps.setdefault(pipeline, {})[step] = account
    for fault in check_ledger(stores.ledger):
        add_fault(fault)
    return result


def _check_stores(
    stores: Stores,
    pipelines: Sequence[str],
    started_at: datetime,
    archiving_pipelines: Sequence[str] | None,
) -> Iterator[AuditFault]:
    """Yield the faults in the contents of the stores, then those that a deep audit recorded.

    `pipelines`: names of the pipelines whose entries are checked.
    `started_at`: start of the audit; newer rows are skipped.
    `archiving_pipelines`: pipelines whose files must all be in a WARC by now; None skips that
        check.
    """
    yield from check_entries(stores.records, pipelines, started_at)
    yield from check_endings(stores.records, started_at)
    try:
        indexed_count = stores.index.count()
    except ConfigurationError as error:
        indexed_count = 0
        yield AuditFault(AuditCheck.DOCUMENT, "", str(error))
    yield from _check_lost_records(stores, indexed_count)
    yield from check_derivatives(stores, started_at)
    yield from _check_stray_documents(stores, indexed_count)
    yield from check_files(stores, started_at, archiving_pipelines)
    yield from check_places(stores)
    yield from iter_remembered_faults(stores.records)


def describe_lost_records(stores: Stores, count_indexed: Callable[[], int]) -> str | None:
    """Return an error message if the records (SQL rows) contain no files although other stores do,
    else None.

    This happens if the records were lost or belong to another library. The wide-column table and
    the full-text index are queried only if the records contain no files. Of the table, only the
    first rows are searched. `count_indexed` returns the number of documents in the index.
    """
    if next(stores.records.find(FileMetaRow, count_max=1), None) is not None:
        return None
    # Only rows of files that Fonds read have a size. Rows imported from a CDX index or a dump do
    # not mean that records were lost.
    columns = [FILE_SIZE, FILE_CDX]
    rows = stores.table.scan(stores.journal, count_max=TABLE_ROWS_MAX, columns=columns)
    filled_stores = ["the table"] if any(FILE_SIZE in cells for _, cells in rows) else []
    indexed_count = count_indexed()
    filled_stores += [f"the index ({indexed_count} documents)"] if indexed_count else []
    if not filled_stores:
        return None
    verb = "does" if len(filled_stores) == 1 else "do"
    return (
        f"the records contain no files, but {' and '.join(filled_stores)} {verb}. The "
        "records were lost, or the stores belong to another library"
    )


def _check_lost_records(stores: Stores, indexed_count: int) -> Iterator[AuditFault]:
    if message := describe_lost_records(stores, lambda: indexed_count):
        yield AuditFault(AuditCheck.RECORDS_EMPTIED, "records", message)


def _check_stray_documents(stores: Stores, indexed_count: int) -> Iterator[AuditFault]:
    """Yield a fault if the full-text index has more documents than the records list.

    `indexed_count` is the number of documents in the index. It is counted before the records are,
    so that documents which workers add in between cause no fault.
    """
    expected_max = count_expected(stores.records)
    if indexed_count > expected_max:
        message = (
            f"the index contains {indexed_count} documents, but the records list only "
            f"{expected_max}"
        )
        yield AuditFault(AuditCheck.DOCUMENT, "", message)


def _find_archiving_pipelines(result: AuditResult) -> list[str] | None:
    """Return the names of the pipelines whose files must all be in a WARC by now: those that
    archive bodies.

    Returns None while any message is pending, because its file may not be archived yet.
    """
    is_pending = any(
        account.pending for steps in result.steps.values() for account in steps.values()
    )
    return (
        None
        if is_pending
        else [pipeline for pipeline, steps in result.steps.items() if ARCHIVE_BODY in steps]
    )


def build_report(result: AuditResult) -> AuditReport:
    """Build the report for users from the result of an audit."""
    return AuditReport(
        balanced=result.is_balanced,
        missing=result.fault_texts,
        fault_count=result.fault_count,
        faults=[
            FaultReport(str(fault.check), fault.subject, fault.message, fault.remedy)
            for fault in result.faults
        ],
        check_counts={str(check): count for check, count in result.check_counts.items()},
        steps={
            pipeline: {step: account.build_report() for step, account in steps.items()}
            for pipeline, steps in result.steps.items()
        },
    )
