"""Proves from the stores that nothing was lost: every step adds up, and what is done is really there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fonds.collections.changing.writing import Changes
from fonds.formats.journal import FILE_CDX, FILE_SIZE
from fonds.kinds import expected_count
from fonds.library.checks.bodies import remembered
from fonds.library.checks.books import NO_DEPTH, StepAccount, accounts, inputs, settle
from fonds.library.checks.collections import collections
from fonds.library.checks.derivatives import derivatives
from fonds.library.checks.endings import endings
from fonds.library.checks.entries import entries
from fonds.library.checks.fault import Check, Fault
from fonds.library.checks.files import files
from fonds.library.checks.places import ARCHIVE_BODY, places
from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.rows import FileMetaRow
from fonds.ports import Stores
from fonds.runtime.binding import stage_of

FAULTS_MAX = 100
LOOKED_AT = 500
"""Rows of the table that are looked at to see whether files were read here."""


@dataclass(slots=True)
class Audit:
    """What the audit found: the steps of each pipeline, and its faults.

    `faults` are the first hundred, `missing_count` counts all, a message in no queue as one.
    """

    steps: dict[str, dict[str, StepAccount]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    missing_count: int = 0

    @property
    def balanced(self) -> bool:
        """Whether everything adds up and everything done is there."""
        return self.missing_count == 0

    @property
    def missing(self) -> list[str]:
        """What the faults say."""
        return [fault.told for fault in self.faults]

    def miss(self, fault: Fault, count: int = 1) -> None:
        """Note a fault."""
        self.missing_count += count
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


def audit(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    tell: Callable[[Fault], None] = lambda fault: None,
    changes: Changes | None = None,
) -> Audit:
    """Check the books of these pipelines, then what the stores hold; each comes with its subscriptions.

    Streams every row, reads no body; safe beside running workers, whose messages in hand count as pending.
    `tell` is told every fault, however many there are; `changes` are those of the collections there are, None
    where there is none.
    """
    began = datetime.now(UTC)
    found = audit_books(stores, pipelines, tell)
    for fault in _kept(stores, list(pipelines), began, _archiving(found)):
        found.miss(fault)
        tell(fault)
    for fault in collections(changes) if changes is not None else ():
        found.miss(fault)
        tell(fault)
    return found


def audit_books(
    stores: Stores,
    pipelines: Mapping[str, Sequence[Subscription]],
    tell: Callable[[Fault], None] = lambda fault: None,
) -> Audit:
    """Check the books of these pipelines against their queue alone."""
    found = Audit()

    def note(fault: Fault, count: int = 1) -> None:
        found.miss(fault, count)
        tell(fault)

    # A message promised before `began` and unsettled after it was in the queue when that was counted;
    # of what is promised later nothing is known yet.
    began = datetime.now(UTC)
    depths = {
        (name, stage_of(one)[1]): stores.queue.depth(one)
        for name, readers in pipelines.items()
        for one in readers
    }
    entering = inputs(stores.records, list(pipelines), note)
    for (pipeline, step), account in accounts(stores.records, pipelines, began, note).items():
        spare, depth = entering.pop(pipeline, 0), depths.get((pipeline, step), NO_DEPTH)
        settled = settle(pipeline, step, account, depth, spare, note)
        found.steps.setdefault(pipeline, {})[step] = settled
    for difference in stores.ledger.recount():
        note(_of_the_books(difference))
    return found


def _kept(
    stores: Stores, pipelines: Sequence[str], began: datetime, archiving: Sequence[str] | None
) -> Iterator[Fault]:
    """Everything beside the books, in the order in which repairing goes on."""
    yield from entries(stores.records, pipelines, began)
    yield from endings(stores.records, began)
    try:
        indexed = stores.index.count()
    except ConfigurationError as error:
        indexed = 0
        yield Fault(Check.DOCUMENT, "", str(error))
    yield from _emptied(stores, indexed)
    yield from derivatives(stores, began)
    yield from _strays(stores, indexed)
    yield from files(stores, began, archiving)
    yield from places(stores)
    yield from remembered(stores.records)


def _of_the_books(told: str) -> Fault:
    """A difference the ledger told: an entry that is not on the books, or a count."""
    words = told.split(" ")
    if told.startswith("entry ") and "is not on the books" in told:
        return Fault(Check.ENTRY, words[1], told, words[2].strip("()"))
    return Fault(Check.COUNT, words[1] if len(words) > 1 else "", told)


def emptied(stores: Stores, count_indexed: Callable[[], int]) -> str | None:
    """What the records lack altogether while other stores are full; None when that is not so. Only empty
    records have the others asked."""
    if next(stores.records.find(FileMetaRow, count_max=1), None) is not None:
        return None
    # Rows of files that were read here have a size; what an index told, or a dump, is no loss of the records.
    columns = [FILE_SIZE, FILE_CDX]
    rows = stores.table.scan(stores.journal, count_max=LOOKED_AT, columns=columns)
    full = ["the table"] if any(FILE_SIZE in cells for _, cells in rows) else []
    indexed = count_indexed()
    full += [f"the index ({indexed} documents)"] if indexed else []
    if not full:
        return None
    return f"the records know no file, and {' and '.join(full)} do: they were lost, or are others'"


def _emptied(stores: Stores, indexed: int) -> Iterator[Fault]:
    if told := emptied(stores, lambda: indexed):
        yield Fault(Check.RECORDS_EMPTIED, "records", told)


def _strays(stores: Stores, indexed: int) -> Iterator[Fault]:
    """`indexed` was counted first: rows only come to it since."""
    most = expected_count(stores.records)
    if indexed > most:
        told = f"the index holds {indexed} documents; the records know {most}"
        yield Fault(Check.DOCUMENT, "", told)


def _archiving(found: Audit) -> list[str] | None:
    """The pipelines whose files all lie in a WARC by now; None while something is still on its way."""
    pending = any(account.pending for steps in found.steps.values() for account in steps.values())
    return (
        None if pending else [name for name, steps in found.steps.items() if ARCHIVE_BODY in steps]
    )


def as_json(found: Audit) -> dict[str, Any]:
    """The object of `fonds audit --json`."""
    return {
        "balanced": found.balanced,
        "missing": found.missing,
        "missing_count": found.missing_count,
        "faults": [
            {
                "check": str(one.check),
                "subject": one.subject,
                "told": one.told,
                "remedy": one.remedy,
            }
            for one in found.faults
        ],
        "steps": {
            pipeline: {name: account.as_json() for name, account in steps.items()}
            for pipeline, steps in found.steps.items()
        },
    }
