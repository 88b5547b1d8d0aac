"""Proves from the stores that nothing was lost: every step adds up, and what is done is really there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any, TypeVar

from fonds.formats.documents import INDEXED
from fonds.formats.journal import FILE_SIZE
from fonds.model.disposition import Verdict
from fonds.model.keys import text_blob_key, thumbnail_blob_key
from fonds.model.message import Depth, Subscription
from fonds.model.rows import (
    CaptureRow,
    CdxRow,
    DispositionRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.ports import Records, Stores

MISSING_MAX = 100
NAMED_MAX = 5
CHUNK = 500
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepAccount:
    """One step: in = done + dropped + quarantined + pending + missing, and missing must be 0."""

    received: int
    done: int
    dropped: int
    quarantined: int
    pending: int
    missing: int

    def as_json(self) -> dict[str, int]:
        """The object of `fonds audit --json` for this step."""
        return {
            "in": self.received,
            "done": self.done,
            "dropped": self.dropped,
            "quarantined": self.quarantined,
            "pending": self.pending,
        }


@dataclass(slots=True)
class Audit:
    """What the audit found; `missing` names up to a hundred faults, `missing_count` counts all."""

    steps: dict[str, StepAccount] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    missing_count: int = 0

    @property
    def balanced(self) -> bool:
        """Whether everything adds up and everything done is there."""
        return self.missing_count == 0

    def miss(self, what: str, count: int = 1) -> None:
        """Note a fault."""
        self.missing_count += count
        if len(self.missing) < MISSING_MAX:
            self.missing.append(what)


def audit(stores: Stores, subscriptions: Sequence[Subscription]) -> Audit:
    """Check the accounts of all steps, then what the stores hold. The first subscription is the entry.

    Streams every row once; safe beside running workers, whose messages in hand count as pending.
    """
    found = Audit()
    # A message promised before `began` and unsettled after it was in the queue when that was counted;
    # of what is promised later nothing is known yet.
    began = datetime.now(UTC)
    depths = {one.name: stores.queue.depth(one) for one in subscriptions}
    entering = _inputs(stores.records, found)
    _accounts(stores.records, [one.name for one in subscriptions], depths, entering, began, found)
    _derivatives(stores, began, found)
    return found


@dataclass(slots=True)
class _Ledger:
    """The account of one step while rows are counted; `owed` are unsettled and should be in the queue.

    `apart` counts what went into quarantine before the audit began.
    """

    received: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    owed: int = 0
    owed_ids: list[str] = field(default_factory=list)
    apart: int = 0

    def end(self, row: DispositionRow, began: datetime) -> None:
        """Count a message that is settled."""
        self.ended[row.verdict] += 1
        if row.verdict == Verdict.QUARANTINED and row.settled_at <= began:
            self.apart += 1

    def owe(self, capture_id: str) -> None:
        """Count a message that must be in the queue."""
        self.owed += 1
        if len(self.owed_ids) < NAMED_MAX:
            self.owed_ids.append(capture_id)


def _accounts(
    records: Records,
    names: Sequence[str],
    depths: Mapping[str, Depth],
    entering: int,
    began: datetime,
    found: Audit,
) -> None:
    ledgers = {name: _Ledger() for name in names}
    for capture, rows in _merged(records.find(CaptureRow), records.find(DispositionRow)):
        settled = {row.step: row for row in rows if row.verdict != Verdict.RETRIED}
        promised = {names[0]: capture.entered_at}
        for row in settled.values():
            for name in row.emitted:
                promised[name] = min(row.settled_at, promised.get(name, row.settled_at))
        for name, since in promised.items():
            ledger = ledgers.setdefault(name, _Ledger())
            ledger.received += 1
            if name in settled:
                ledger.end(settled[name], began)
            elif since <= began:
                ledger.owe(capture.capture_id)
    for name in names:
        spare = entering if name == names[0] else 0
        _account(name, ledgers[name], depths[name], spare, found)


def _account(name: str, ledger: _Ledger, depth: Depth, entering: int, found: Audit) -> None:
    lost = max(0, ledger.owed - depth.pending - entering)
    if lost:
        among = ", ".join(ledger.owed_ids)
        found.miss(
            f"{name}: {lost} of {ledger.owed} unsettled messages are in no queue (among {among})",
            lost,
        )
    short = ledger.apart - depth.quarantined
    if short > 0:
        found.miss(f"{name}: {short} quarantined messages are not in quarantine", short)
    ended = ledger.ended
    found.steps[name] = StepAccount(
        received=ledger.received,
        done=ended[Verdict.DONE],
        dropped=ended[Verdict.DROPPED],
        quarantined=ended[Verdict.QUARANTINED],
        pending=ledger.received - ended.total() - lost,
        missing=lost,
    )


def _merged(
    captures: Iterator[CaptureRow], rows: Iterator[DispositionRow]
) -> Iterator[tuple[CaptureRow, list[DispositionRow]]]:
    """Every capture with its dispositions; both come in the order of the capture's id."""
    grouped = groupby(rows, key=lambda row: row.capture_id)
    group = next(grouped, None)
    for capture in captures:
        while group is not None and group[0] < capture.capture_id:
            group = next(grouped, None)
        if group is not None and group[0] == capture.capture_id:
            yield capture, list(group[1])
            group = next(grouped, None)
        else:
            yield capture, []


def _inputs(records: Records, found: Audit) -> int:
    """How many captures are on the books and may have no message yet, because reading is not finished.

    The intake writes captures down, then sends them, then moves its mark: stopped in between, it
    sends them when it goes on.
    """
    entered = records.count(CaptureRow, ("input_id",))
    entering = sum(entered.values())
    for row in records.find(InputRow):
        count = entered.get((row.input_id,), 0)
        entering -= count if row.finished else min(count, row.captures)
        if row.finished and count != row.captures:
            found.miss(
                f"{row.path}: {row.captures} captures were read and {count} are on the books"
            )
    return entering


def _derivatives(stores: Stores, began: datetime, found: Audit) -> None:
    """What is done is there: rows, blobs and documents of every PDF and story."""
    pdfs = (row for row in stores.records.find(PdfMetaRow) if row.updated <= began)
    for some in _chunks(pdfs, CHUNK):
        texts = [text_blob_key(row.sha1hex) for row in some if row.word_count]
        pictures = [thumbnail_blob_key(row.sha1hex) for row in some if row.has_page0_thumbnail]
        _blobs(stores, texts + pictures, found)
        _indexed(stores, "PDF", [row.sha1hex for row in some if row.status in INDEXED], found)
        _described(stores, [row.sha1hex for row in some], found)
    stories = (row for row in stores.records.find(StoryMetaRow) if row.updated <= began)
    for pages in _chunks(stories, CHUNK):
        keys = [row.sha1hex for row in pages]
        _blobs(stores, [text_blob_key(key) for key in keys], found)
        _indexed(stores, "story", keys, found)
        _described(stores, keys, found)


def _blobs(stores: Stores, keys: Sequence[str], found: Audit) -> None:
    for key in sorted(set(keys) - stores.blobs.exists(keys)):
        found.miss(f"blob {key} is missing")


def _indexed(stores: Stores, what: str, keys: Sequence[str], found: Audit) -> None:
    for key in sorted(set(keys) - stores.index.get(keys).keys()):
        found.miss(f"{what} {key} is not in the index")


def _described(stores: Stores, sha1hexes: Sequence[str], found: Audit) -> None:
    """Every derivative belongs to a file with a row in both stores and a place in a WARC."""
    rows = {row.sha1hex for row in stores.records.get(FileMetaRow, sha1hexes)}
    cells = stores.table.get(stores.journal, [bytes.fromhex(key) for key in sha1hexes], [FILE_SIZE])
    placed = {row.sha1hex for row in stores.records.find(CdxRow, {"sha1hex": list(sha1hexes)})}
    settled = not any(account.pending for account in found.steps.values())
    for key in sha1hexes:
        if key not in rows:
            found.miss(f"file {key} has no row in file_meta")
        if bytes.fromhex(key) not in cells:
            found.miss(f"file {key} has no row in the table {stores.journal}")
        if settled and key not in placed and not _set_apart(stores.records, key):
            found.miss(f"file {key} lies in no WARC")


def _set_apart(records: Records, sha1hex: str) -> bool:
    """Whether a message about the file is quarantined, so that its absence elsewhere is accounted for."""
    where = {"sha1hex": sha1hex, "verdict": str(Verdict.QUARANTINED)}
    return next(records.find(DispositionRow, where, count_max=1), None) is not None


def _chunks(rows: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(rows, size)):
        yield chunk


def as_json(found: Audit) -> dict[str, Any]:
    """The object of `fonds audit --json`."""
    return {
        "balanced": found.balanced,
        "missing": found.missing,
        "missing_count": found.missing_count,
        "steps": {name: account.as_json() for name, account in found.steps.items()},
    }
