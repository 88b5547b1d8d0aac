"""Proves from the stores that nothing was lost: every step adds up, and what is done is really there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

from fonds.formats.journal import FILE_SIZE
from fonds.kinds.pdf import INDEXED
from fonds.kinds.story import newest_versions
from fonds.model.disposition import Verdict
from fonds.model.keys import text_blob_key, thumbnail_blob_key
from fonds.model.message import Depth, Subscription
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.ports import Records, Stores
from fonds.runtime.binding import stage_of

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
    """What the audit found: the steps of each pipeline, and its faults.

    `missing` names up to a hundred of them, `missing_count` counts all.
    """

    steps: dict[str, dict[str, StepAccount]] = field(default_factory=dict)
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


def audit(stores: Stores, pipelines: Mapping[str, Sequence[Subscription]]) -> Audit:
    """Check the books of these pipelines, then what the stores hold; each comes with its subscriptions.

    Streams every row once; safe beside running workers, whose messages in hand count as pending.
    """
    found = Audit()
    # A message promised before `began` and unsettled after it was in the queue when that was counted;
    # of what is promised later nothing is known yet.
    began = datetime.now(UTC)
    depths = {
        (name, stage_of(one)[1]): stores.queue.depth(one)
        for name, readers in pipelines.items()
        for one in readers
    }
    entering = _inputs(stores.records, list(pipelines), found)
    accounts = _accounts(stores.records, pipelines, began)
    for (pipeline, step), account in accounts.items():
        spare = entering.pop(pipeline, 0)
        _settle(pipeline, step, account, depths.get((pipeline, step), _NO_DEPTH), spare, found)
    for difference in stores.ledger.recount():
        found.miss(difference)
    _derivatives(stores, began, found)
    return found


_NO_DEPTH = Depth(0, 0, 0, 0)


@dataclass(slots=True)
class _Account:
    """One step while rows are counted; `owed` are unsettled and should be in the queue.

    `apart` counts what went into quarantine before the audit began.
    """

    received: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    owed: int = 0
    owed_ids: list[str] = field(default_factory=list)
    apart: int = 0

    def note(self, row: DispositionRow, began: datetime) -> None:
        """Count one message."""
        self.received += 1
        if not row.is_open:
            self.ended[row.verdict] += 1
            self.apart += row.verdict == Verdict.QUARANTINED and _since(row) <= began
        elif _since(row) <= began:
            self.owed += 1
            if len(self.owed_ids) < NAMED_MAX:
                self.owed_ids.append(row.message_id)


def _since(row: DispositionRow) -> datetime:
    return row.settled_at or row.promised_at


def _accounts(
    records: Records, pipelines: Mapping[str, Sequence[Subscription]], began: datetime
) -> dict[tuple[str, str], _Account]:
    """Every step of these pipelines, in their order, and whatever else stands on their books."""
    accounts = {
        (name, stage_of(one)[1]): _Account()
        for name, readers in pipelines.items()
        for one in readers
    }
    for row in records.find(DispositionRow, {"pipeline": list(pipelines)}):
        accounts.setdefault((row.pipeline, row.step), _Account()).note(row, began)
    return accounts


def _settle(
    pipeline: str, step: str, account: _Account, depth: Depth, entering: int, found: Audit
) -> None:
    lost = max(0, account.owed - depth.pending - entering)
    name = f"{pipeline}.{step}"
    if lost:
        among = ", ".join(account.owed_ids)
        found.miss(
            f"{name}: {lost} of {account.owed} unsettled messages are in no queue (among {among})",
            lost,
        )
    short = account.apart - depth.quarantined
    if short > 0:
        found.miss(f"{name}: {short} quarantined messages are not in quarantine", short)
    ended = account.ended
    found.steps.setdefault(pipeline, {})[step] = StepAccount(
        received=account.received,
        done=ended[Verdict.DONE],
        dropped=ended[Verdict.DROPPED],
        quarantined=ended[Verdict.QUARANTINED],
        pending=account.received - ended.total() - lost,
        missing=lost,
    )


def _inputs(records: Records, pipelines: Sequence[str], found: Audit) -> dict[str, int]:
    """How many entries of each pipeline are on the books and may have no message yet.

    The intake writes entries down, then sends them, then moves its mark: stopped in between, it sends
    them when it goes on.
    """
    where = {"pipeline": list(pipelines)}
    counts = records.count(EntryRow, ("pipeline", "input_id"), where)
    entering: Counter[str] = Counter()
    for (pipeline, input_id), count in counts.items():
        entering[pipeline] += count if input_id else 0
    for row in records.find(InputRow, where):
        count = counts.get((row.pipeline, row.input_id), 0)
        entering[row.pipeline] -= count if row.finished else min(count, row.entries)
        if row.finished and count != row.entries:
            found.miss(f"{row.path}: {row.entries} entries were read and {count} are on the books")
    return dict(entering)


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
        _stories_indexed(stores, [row.story_id for row in pages], began, found)
        _described(stores, keys, found)


def _blobs(stores: Stores, keys: Sequence[str], found: Audit) -> None:
    for key in sorted(set(keys) - stores.blobs.exists(keys)):
        found.miss(f"blob {key} is missing")


def _indexed(stores: Stores, what: str, ids: Sequence[str], found: Audit) -> None:
    for id_ in sorted(set(ids) - stores.index.get(ids).keys()):
        found.miss(f"{what} {id_} is not in the index")


def _stories_indexed(stores: Stores, ids: Sequence[str], began: datetime, found: Audit) -> None:
    """Each of these stories is in the index, as the version captured last."""
    # The index first: a version that came in between is younger than `began`.
    there = stores.index.get(ids)
    for id_, row in sorted(newest_versions(stores.records, ids).items()):
        if row.updated > began:
            continue
        if id_ not in there:
            found.miss(f"story {id_} is not in the index")
        elif there[id_].sha1hex != row.sha1hex:
            found.miss(f"story {id_} is in the index as {there[id_].sha1hex}, not {row.sha1hex}")


def _described(stores: Stores, sha1hexes: Sequence[str], found: Audit) -> None:
    """Every derivative belongs to a file with a row in both stores and a place in a WARC."""
    rows = {row.sha1hex for row in stores.records.get(FileMetaRow, sha1hexes)}
    cells = stores.table.get(stores.journal, [bytes.fromhex(key) for key in sha1hexes], [FILE_SIZE])
    placed = {row.sha1hex for row in stores.records.find(CdxRow, {"sha1hex": list(sha1hexes)})}
    archiving = [name for name, steps in found.steps.items() if "archive_body" in steps]
    settled = archiving and not any(
        account.pending for steps in found.steps.values() for account in steps.values()
    )
    for key in sha1hexes:
        if key not in rows:
            found.miss(f"file {key} has no row in file_meta")
        if bytes.fromhex(key) not in cells:
            found.miss(f"file {key} has no row in the table {stores.journal}")
        if settled and key not in placed and _to_archive(stores.records, key, archiving):
            found.miss(f"file {key} lies in no WARC")


def _to_archive(records: Records, sha1hex: str, archiving: Sequence[str]) -> bool:
    """Whether the file should lie in a WARC: it came into a pipeline that archives, as far as the books say,
    and no message about it is quarantined, which would account for its absence."""
    if _noted(records, sha1hex, verdict=str(Verdict.QUARANTINED)):
        return False
    return _noted(records, sha1hex, pipeline=list(archiving)) or not _noted(records, sha1hex)


def _noted(records: Records, sha1hex: str, **where: object) -> bool:
    """Whether there is such a disposition of a message about the file."""
    rows = records.find(DispositionRow, {"about": sha1hex, **where}, count_max=1)
    return next(rows, None) is not None


def _chunks(rows: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(rows, size)):
        yield chunk


def as_json(found: Audit) -> dict[str, Any]:
    """The object of `fonds audit --json`."""
    return {
        "balanced": found.balanced,
        "missing": found.missing,
        "missing_count": found.missing_count,
        "steps": {
            pipeline: {name: account.as_json() for name, account in steps.items()}
            for pipeline, steps in found.steps.items()
        },
    }
