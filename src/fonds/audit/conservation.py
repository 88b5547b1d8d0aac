"""Audit of the ledger: checks that it accounts for all messages of all steps and all entries of all
inputs.

`check_sinks` compares messages that are done at a storing step (sink) with the rows that the step
wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from fonds.audit.fault import AuditCheck, AuditFault
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS
from fonds.model.checksums import hash_row
from fonds.model.disposition import Verdict
from fonds.model.entry import compute_input_id
from fonds.model.message import Depth, Subscription
from fonds.model.restrictions import REDACTED
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.model.rows.row import TimeRange
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.ports import Records

_SINKS: Mapping[str, Sequence[DerivativeKind]] = {
    step: [kind for kind in KINDS if step in kind.sinks]
    for step in {step for kind in KINDS for step in kind.sinks}
}


def check_sinks(
    records: Records,
    pipelines: Sequence[str],
    stages: Iterable[str],
    started_at: datetime,
) -> Iterator[AuditFault]:
    """Check that every storing step (sink) wrote the rows that the ledger says it wrote.

    `stages`: names of the steps to check, with their tags. Other steps than sinks are skipped.
    `started_at`: start of the audit. Messages that ended later are skipped.
    """
    for stage in sorted(stages):
        step, _, tag = stage.partition("-")
        for kind in _SINKS.get(step, ()):
            unwritten = kind.build_unwritten_condition(tag)
            if unwritten is None:
                continue
            where = {
                "pipeline": list(pipelines),
                "step": stage,
                "verdict": str(Verdict.DONE),
                "about": unwritten,
            }
            unwritten_files = {
                row.about
                for row in records.find(DispositionRow, where)
                if row.about and (row.settled_at is None or row.settled_at <= started_at)
            }
            for sha1hex in sorted(unwritten_files):
                message = f"{stage} is done with {sha1hex}, but {kind.row.TABLE} does not show it"
                yield AuditFault(AuditCheck.ROW, sha1hex, message)


NAMES_MAX = 5
NO_DEPTH = Depth(0, 0, 0, 0)

ReportFault = Callable[..., None]
"""Function that receives a fault and, optionally, the number of lost messages that it
represents.
"""


class StepReport(msgspec.Struct, frozen=True, rename={"received": "in"}):
    """Number of messages of one pipeline step, as shown to users.

    `received` is the sum of the other fields, plus messages that are in no queue (a fault). In JSON
    its name is `in`.
    """

    received: int
    done: int
    dropped: int
    quarantined: int
    pending: int


@dataclass(frozen=True, slots=True)
class StepAccount:
    """Message counts of one pipeline step. `received` is the sum of all other fields.

    `done`, `dropped`, `quarantined`: messages that ended, by outcome.
    `pending`: messages without an outcome that are in the queue, or that the intake may be about to
        send.
    `missing`: messages without an outcome that are in no queue; above 0 is a fault.
    """

    received: int
    done: int
    dropped: int
    quarantined: int
    pending: int
    missing: int

    def build_report(self) -> StepReport:
        """Build the message counts that users see. The number of missing messages is left out."""
        return StepReport(self.received, self.done, self.dropped, self.quarantined, self.pending)


@dataclass(slots=True)
class StepCounter:
    """Message counts of one pipeline step.

    `received_count`: all messages sent to the step.
    `verdict_counts`: messages that ended, by verdict.
    `expected_count`: unfinished messages from before the audit, which should be in the queue.
    `expected_ids`: ids of the first five of these unfinished messages.
    `quarantined_count`: messages quarantined before the audit began.
    """

    received_count: int = 0
    verdict_counts: Counter[str] = field(default_factory=Counter)
    expected_count: int = 0
    expected_ids: list[str] = field(default_factory=list)
    quarantined_count: int = 0

    def add_messages(self, verdict: str, count: int, *, is_open: bool) -> None:
        """Add messages with the same verdict to the counts of the step."""
        self.received_count += count
        if not is_open:
            self.verdict_counts[verdict] += count

    def add_unfinished(self, message_id: str) -> None:
        """Add an unfinished message from before the audit."""
        self.expected_count += 1
        if len(self.expected_ids) < NAMES_MAX:
            self.expected_ids.append(message_id)


def build_accounts(
    records: Records,
    pipelines: Mapping[str, Sequence[Subscription]],
    started_at: datetime,
    report_fault: ReportFault,
) -> dict[tuple[str, str], StepCounter]:
    """Count the messages of each step from the ledger, and check what storing steps (sinks) wrote.

    `pipelines`: subscriptions by pipeline name. Other steps with messages in these pipelines are
        counted too.
    `started_at`: start of the audit. Later messages are counted, but faults about them are not
        reported.
    `report_fault`: called with each fault of a sink.

    Returns the counts by (pipeline, step): first the steps in `pipelines`, in that order.
    """
    counters = {
        (name, parse_subscription_name(subscription)[1]): StepCounter()
        for name, readers in pipelines.items()
        for subscription in readers
    }
    where = {"pipeline": list(pipelines)}
    columns = ("pipeline", "step", "verdict", "is_open")
    counts = records.count(DispositionRow, columns, where)
    for (pipeline, step, verdict, is_open), count in sorted(counts.items()):
        counter = counters.setdefault((pipeline, step), StepCounter())
        counter.add_messages(verdict, count, is_open=is_open)
    for key, count in _count_quarantined(records, where, started_at).items():
        counters.setdefault(key, StepCounter()).quarantined_count = count
    for row in records.find(DispositionRow, {**where, "is_open": True}):
        if (row.settled_at or row.promised_at) <= started_at:
            key = (row.pipeline, row.step)
            counters.setdefault(key, StepCounter()).add_unfinished(row.message_id)
    stages = {step for _, step in counters}
    for fault in check_sinks(records, list(pipelines), stages, started_at):
        report_fault(fault)
    return counters


def _count_quarantined(
    records: Records, where: Mapping[str, object], started_at: datetime
) -> Counter[tuple[str, str]]:
    """Count the messages quarantined before the audit began, by pipeline and step."""
    until_start = TimeRange(datetime.min.replace(tzinfo=UTC), started_at)
    counts: Counter[tuple[str, str]] = Counter()
    for times in (
        {"settled_at": until_start},
        {"settled_at": None, "promised_at": until_start},
    ):
        conditions = {**where, "verdict": str(Verdict.QUARANTINED), "is_open": False, **times}
        counts.update(records.count(DispositionRow, ("pipeline", "step"), conditions))
    return counts


def check_account(
    pipeline: str,
    step: str,
    account: StepCounter,
    depth: Depth,
    entering: int,
    report_fault: ReportFault,
) -> StepAccount:
    """Compare the message counts of one step with its queue and its quarantine.

    `account`: counts from the ledger.
    `depth`: numbers of messages in the queue and in the quarantine of the step.
    `entering`: number of recorded entries of the pipeline that may have no message yet.
    `report_fault`: called with each fault: unfinished messages in no queue, or messages missing
        from the quarantine.

    Returns the final counts of the step.
    """
    lost_count = max(0, account.expected_count - depth.pending - entering)
    name = f"{pipeline}.{step}"
    if lost_count:
        examples = ", ".join(account.expected_ids)
        message = (
            f"{name}: {lost_count} of {account.expected_count} unsettled messages are in no "
            f"queue (for example {examples})"
        )
        report_fault(AuditFault(AuditCheck.UNSETTLED, name, message, pipeline, step), lost_count)
    missing_count = account.quarantined_count - depth.quarantined
    if missing_count > 0:
        message = f"{name}: {missing_count} quarantined messages are missing from the quarantine"
        report_fault(
            AuditFault(AuditCheck.QUARANTINE, name, message, pipeline, step), missing_count
        )
    verdict_counts = account.verdict_counts
    return StepAccount(
        received=account.received_count,
        done=verdict_counts[Verdict.DONE],
        dropped=verdict_counts[Verdict.DROPPED],
        quarantined=verdict_counts[Verdict.QUARANTINED],
        pending=account.received_count - verdict_counts.total() - lost_count,
        missing=lost_count,
    )


def check_inputs(
    records: Records, pipelines: Sequence[str], report_fault: ReportFault
) -> dict[str, int]:
    """Compare the entry count of each input with its entries in the ledger, and report differences.

    Returns for each pipeline the number of entries that may have no message yet. The intake first
    records entries, then sends their messages, then advances its read position. If it is killed in
    between, it sends the messages when it resumes.
    """
    where = {"pipeline": list(pipelines)}
    counts = records.count(EntryRow, ("pipeline", "input_id"), where)
    entering: Counter[str] = Counter()
    for (pipeline, input_id), count in counts.items():
        entering[pipeline] += count if input_id else 0
    known_inputs = set()
    for row in records.find(InputRow, where):
        known_inputs.add((row.pipeline, row.input_id))
        count = counts.get((row.pipeline, row.input_id), 0)
        entering[row.pipeline] -= count if row.finished else min(count, row.entries)
        if row.finished and count != row.entries:
            message = f"{row.path}: {row.entries} entries were read, but {count} are in the ledger"
            report_fault(AuditFault(AuditCheck.INPUT_COUNT, row.input_id, message, row.pipeline))
        if message := _compare_columns(row):
            report_fault(AuditFault(AuditCheck.INPUT_COUNT, row.input_id, message, row.pipeline))
    for pipeline, input_id in sorted(counts.keys() - known_inputs):
        if input_id:
            _check_missing_input(
                records, pipeline, input_id, counts[pipeline, input_id], report_fault
            )
    return dict(entering)


def _compare_columns(row: InputRow) -> str:
    """Return a sentence if another program changed the row of an input, else ""."""
    if row.tally_count != sum(row.tally.values()):
        return (
            f"{row.path}: {row.tally_count} items were counted, but its tally has "
            f"{sum(row.tally.values())}"
        )
    # A row that repair inferred from entries has no fingerprint.
    has_path = row.fingerprint and row.path != REDACTED
    if row.kind in FILE_KINDS and has_path and not is_path_of(row.path, row):
        return f"{row.path}: the input {row.input_id} has another path, size or time in its row"
    if row.checksum != hash_row(row):
        return f"{row.path}: another program changed the row of the input {row.input_id}"
    return ""


FILE_KINDS = frozenset({"file", "index", "tasks", "warc", "zip", "zipnum"})
"""Kinds of inputs whose id is a hash of their path, size and modification time."""


def is_path_of(path: str, row: InputRow) -> bool:
    """Whether the id of an input was made from this path and the fingerprint of its row."""
    return compute_input_id(path.encode("utf-8", "replace"), row.fingerprint) == row.input_id


def _check_missing_input(
    records: Records, pipeline: str, input_id: str, count: int, report_fault: ReportFault
) -> None:
    """Report a fault for an input that has entries in the ledger but no row of its own.

    `count`: number of its entries.

    Nothing is reported while an entry of the input is pending, because the intake may be about to
    write the row.
    """
    where = {"pipeline": pipeline, "input_id": input_id}
    if records.count(EntryRow, (), {**where, "outcome": "pending"})[()]:
        return
    if records.get(InputRow, [(input_id, pipeline)]):
        return
    place = next((row.place for row in records.find(EntryRow, where, count_max=1)), None)
    message = (
        f"input {input_id} ({pipeline}) is missing from the ledger but has {count} "
        f"entries, for example {place}"
    )
    report_fault(AuditFault(AuditCheck.INPUT_ROW, input_id, message, pipeline))
