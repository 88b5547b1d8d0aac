"""WARC files read to their last byte: framing and digests of each record; of ours also what belongs together.

Bound: linear in what a file unpacks to; of one of ours a line a record is held, of others nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from fonds.archive.warc.scanner import Damage
from fonds.archive.warc.tombstone import is_tombstone
from fonds.archive.warc.validator import CheckedRecord, check_records
from fonds.model.archive import IndexedRecord, WarcFileState
from fonds.model.capture import format_datetime14
from fonds.model.disposition import Reason
from fonds.model.errors import FondsError
from fonds.model.keys import parse_sha1
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
    message: str


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

    def add_fault(self, offset: int | None, message: str) -> None:
        """Note one."""
        self.faults_total += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(WarcFault(offset, message))


def verify(files: WarcFiles, path: str, tick: Tick = lambda _: None) -> WarcReport:
    """Read every record of a WARC: one of ours by its name, any other by its absolute path.

    A file somebody writes to just now is read as far as it goes. What keeps it from being read at all is a
    fault too. Raises StoreUnavailableError when a store does not answer.
    """
    report = WarcReport(path)
    held = files.inspect(path)
    if held is None:
        report.add_fault(None, "there is no such file")
        return report
    report.size_bytes, report.is_open = held.size_bytes, held.is_open
    ours = _OwnWarcCheck(path, report) if "/" not in path else None
    try:
        with files.open(path) as stream:
            for thing in _iter_with_ticks(stream, tick):
                _add_to_report(report, thing)
                if ours is not None and isinstance(thing, CheckedRecord):
                    ours.add_record(thing)
    except FondsError as error:
        report.add_fault(None, f"it cannot be read on: {error}")
        return report
    if ours is not None:
        ours.compare_index(held)
    elif not report.records and not report.faults:
        report.add_fault(None, "it holds no record")
    return report


def _iter_with_ticks(stream: BinaryIO, tick: Tick) -> Iterator[CheckedRecord | Damage]:
    told = 0
    for thing in check_records(stream, body_max_bytes=BODY_MAX_BYTES):
        yield thing
        if stream.tell() - told >= TICK_BYTES:
            told = stream.tell()
            tick(told)


def _add_to_report(report: WarcReport, record: CheckedRecord | Damage) -> None:
    if isinstance(record, Damage):
        if report.is_open and record.reason is Reason.TRUNCATED_RECORD:
            return  # The rest of it is being written.
        report.add_fault(record.offset, record.detail)
        return
    report.records[record.fields.type or "(no type)"] += 1
    report.digests += record.matching_digests
    report.unchecked += len(record.unknown)
    for told in record.wrong_digests:
        report.add_fault(record.offset, told)


class _OwnWarcCheck:
    """What has to be so in a WARC of ours beyond what is asked of every WARC."""

    def __init__(self, name: str, report: WarcReport) -> None:
        self._name = name
        self._report = report
        self._records: dict[int, IndexedRecord] = {}
        self._last_id = ""
        self._record_count = 0

    def add_record(self, record: CheckedRecord) -> None:
        """The next record of the file."""
        fields = record.fields.fields
        kind = record.fields.type
        if self._record_count == 0 and (
            kind != "warcinfo" or fields.get("WARC-Filename") != self._name
        ):
            self._report.add_fault(
                record.offset, "it does not begin with a warcinfo record of its name"
            )
        self._record_count += 1
        if record.size_bytes is None:
            self._report.add_fault(record.offset, "the record is no gzip member of its own")
        if BLOCK_DIGEST not in fields:
            self._report.add_fault(record.offset, f"the {kind} record declares no digest")
        if kind == "metadata" and fields.get("WARC-Refers-To") != self._last_id:
            self._report.add_fault(
                record.offset, "the metadata does not belong to the record before it"
            )
        self._last_id = fields.get("WARC-Record-ID", "")
        if kind in _INDEXED and not is_tombstone(record.fields.url):
            self._records[record.offset] = _build_indexed_record(record)

    def compare_index(self, state: WarcFileState) -> None:
        """The records against the CDXJ beside the file."""
        if state.is_open:
            return
        if state.records is None:
            self._report.add_fault(None, f"there is no CDXJ index beside it; {REINDEX}")
            return
        there = {one.offset: one for one in state.records}
        for offset in sorted(self._records.keys() | there.keys()):
            if told := _compare_index_line(self._records.get(offset), there.get(offset)):
                self._report.add_fault(offset, f"{told}; {REINDEX}")


BLOCK_DIGEST = "WARC-Block-Digest"
REINDEX = "`fonds archive reindex` makes the CDXJ again from the records"


def _build_indexed_record(record: CheckedRecord) -> IndexedRecord:
    fields = record.fields
    return IndexedRecord(
        offset=record.offset,
        size_bytes=record.size_bytes,
        url=fields.url,
        datetime14=format_datetime14(fields.captured_at),
        sha1hex=(parse_sha1(fields.digest or "") or b"").hex(),
        is_revisit=fields.type == "revisit",
    )


def _compare_index_line(record: IndexedRecord | None, line: IndexedRecord | None) -> str | None:
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
