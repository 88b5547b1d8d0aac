"""WARC files read to their last byte: framing and digests of each record; of ours also what belongs together.

Bound: linear in what a file unpacks to; of one of ours a line a record is held, of others nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from fonds.formats.warc import CheckedRecord, Damage, check_records
from fonds.formats.warc.tombstone import is_tombstone
from fonds.model.archive import Held, IndexedRecord
from fonds.model.capture import to_datetime14
from fonds.model.disposition import Reason
from fonds.model.errors import FondsError
from fonds.model.keys import sha1_from_text
from fonds.ports import WarcFiles

BODY_MAX_BYTES = 256 * 1024 * 1024
FAULTS_MAX = 1_000
TICK_BYTES = 64 * 1024 * 1024
_INDEXED = frozenset({"response", "resource", "revisit"})

Tick = Callable[[int], None]
"""Told how many bytes of a file were read so far."""


@dataclass(frozen=True, slots=True)
class WarcFault:
    """One thing wrong with a file: where in bytes, None when it is about the whole, and a sentence."""

    offset: int | None
    told: str


@dataclass(slots=True)
class WarcReport:
    """What a file holds and what is wrong with it.

    `records` counts by type, `digests` those that fit, `unchecked` those in a hash nobody here computes.
    `faults` are the first thousand of `faults_total`.
    """

    path: str
    size_bytes: int | None = None
    is_open: bool = False
    records: Counter[str] = field(default_factory=Counter)
    digests: int = 0
    unchecked: int = 0
    faults: list[WarcFault] = field(default_factory=list)
    faults_total: int = 0

    def fault(self, offset: int | None, told: str) -> None:
        """Note one."""
        self.faults_total += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(WarcFault(offset, told))


def verify(files: WarcFiles, path: str, tick: Tick = lambda _: None) -> WarcReport:
    """Read every record of a WARC: one of ours by its name, any other by its absolute path.

    A file somebody writes to just now is read as far as it goes. What keeps it from being read at all is a
    fault too. Raises StoreUnavailableError when a store does not answer.
    """
    report = WarcReport(path)
    held = files.held(path)
    if held is None:
        report.fault(None, "there is no such file")
        return report
    report.size_bytes, report.is_open = held.size_bytes, held.is_open
    ours = _Ours(path, report) if "/" not in path else None
    try:
        with files.open(path) as stream:
            for thing in _ticking(stream, tick):
                _take(report, thing)
                if ours is not None and isinstance(thing, CheckedRecord):
                    ours.take(thing)
    except FondsError as error:
        report.fault(None, f"it cannot be read on: {error}")
        return report
    if ours is not None:
        ours.compare(held)
    elif not report.records and not report.faults:
        report.fault(None, "it holds no record")
    return report


def _ticking(stream: BinaryIO, tick: Tick) -> Iterator[CheckedRecord | Damage]:
    told = 0
    for thing in check_records(stream, body_max_bytes=BODY_MAX_BYTES):
        yield thing
        if stream.tell() - told >= TICK_BYTES:
            told = stream.tell()
            tick(told)


def _take(report: WarcReport, thing: CheckedRecord | Damage) -> None:
    if isinstance(thing, Damage):
        if report.is_open and thing.reason is Reason.TRUNCATED_RECORD:
            return  # The rest of it is being written.
        report.fault(thing.offset, thing.detail)
        return
    report.records[thing.fields.type or "(no type)"] += 1
    report.digests += thing.right
    report.unchecked += len(thing.unknown)
    for told in thing.wrong:
        report.fault(thing.offset, told)


class _Ours:
    """What has to be so in a WARC of ours beyond what is asked of every WARC."""

    def __init__(self, name: str, report: WarcReport) -> None:
        self._name = name
        self._report = report
        self._records: dict[int, IndexedRecord] = {}
        self._last_id = ""
        self._seen = 0

    def take(self, one: CheckedRecord) -> None:
        """The next record of the file."""
        fields = one.fields.fields
        kind = one.fields.type
        if self._seen == 0 and (kind != "warcinfo" or fields.get("WARC-Filename") != self._name):
            self._report.fault(one.offset, "it does not begin with a warcinfo record of its name")
        self._seen += 1
        if one.size_bytes is None:
            self._report.fault(one.offset, "the record is no gzip member of its own")
        if BLOCK_DIGEST not in fields:
            self._report.fault(one.offset, f"the {kind} record declares no digest")
        if kind == "metadata" and fields.get("WARC-Refers-To") != self._last_id:
            self._report.fault(one.offset, "the metadata does not belong to the record before it")
        self._last_id = fields.get("WARC-Record-ID", "")
        if kind in _INDEXED and not is_tombstone(one.fields.url):
            self._records[one.offset] = _indexed(one)

    def compare(self, held: Held) -> None:
        """The records against the CDXJ beside the file."""
        if held.is_open:
            return
        if held.records is None:
            self._report.fault(None, f"there is no CDXJ index beside it; {REINDEX}")
            return
        there = {one.offset: one for one in held.records}
        for offset in sorted(self._records.keys() | there.keys()):
            if told := _differ(self._records.get(offset), there.get(offset)):
                self._report.fault(offset, f"{told}; {REINDEX}")


BLOCK_DIGEST = "WARC-Block-Digest"
REINDEX = "`fonds archive reindex` makes the CDXJ again from the records"


def _indexed(one: CheckedRecord) -> IndexedRecord:
    fields = one.fields
    return IndexedRecord(
        offset=one.offset,
        size_bytes=one.size_bytes,
        url=fields.url,
        datetime14=to_datetime14(fields.captured_at),
        sha1hex=(sha1_from_text(fields.digest or "") or b"").hex(),
        is_revisit=fields.type == "revisit",
    )


def _differ(record: IndexedRecord | None, line: IndexedRecord | None) -> str | None:
    """What a record and its line in the index say differently of each other."""
    if record is None:
        return "the CDXJ names a record that is not there"
    if line is None:
        return "the CDXJ lacks this record"
    named: Mapping[str, str] = {
        "size_bytes": "length",
        "datetime14": "time",
        "sha1hex": "digest",
        "is_revisit": "type",
    }
    wrong = [said for name, said in named.items() if getattr(record, name) != getattr(line, name)]
    # The record's address has blanks and controls escaped, which the index has as they came.
    return f"the CDXJ says another {', '.join(wrong)} of this record" if wrong else None
