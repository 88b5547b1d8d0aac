"""Audit of one WARC file by reading all its bytes: checks record framing, digests and the CDXJ
index.

The CDXJ index is checked only for WARCs written by Fonds. Limits: the time is linear in the
unpacked size. For a WARC of Fonds, one index line per record is held in memory.
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
"""Function that receives the number of bytes of the WARC file read so far."""


@dataclass(frozen=True, slots=True)
class WarcFault:
    """One fault of a WARC file.

    `offset` is the start of the faulty record in bytes; None if the fault is about the whole file.
    """

    offset: int | None
    message: str


@dataclass(slots=True)
class WarcReport:
    """Contents and faults of one WARC file.

    - `size_bytes`: size of the file; None if unknown.
    - `is_open`: whether the file is still being written.
    - `records`: number of records by WARC type.
    - `matching_digest_count`: number of digests that match their bytes.
    - `unchecked_digest_count`: number of digests in a hash that Fonds does not support.
    - `faults`: the first thousand faults.
    - `fault_count`: number of all faults.
    """

    path: str
    size_bytes: int | None = None
    is_open: bool = False
    records: Counter[str] = field(default_factory=Counter)
    matching_digest_count: int = 0
    unchecked_digest_count: int = 0
    faults: list[WarcFault] = field(default_factory=list)
    fault_count: int = 0

    def add_fault(self, offset: int | None, message: str) -> None:
        """Add a fault to the report. `offset` is in bytes; None if it is about the whole file."""
        self.fault_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(WarcFault(offset, message))


def verify(files: WarcFiles, path: str, tick: Tick = lambda _: None) -> WarcReport:
    """Read every record of a WARC file and return its contents and faults.

    `path` is the name of a WARC of Fonds, or the absolute path of any other WARC. A file that is
    still being written is read as far as it goes. If the file is missing or cannot be read, that is
    a fault. `tick` is called with the number of bytes read, after about every 64 MiB. Raises
    StoreUnavailableError if a store does not respond.
    """
    report = WarcReport(path)
    state = files.inspect(path)
    if state is None:
        report.add_fault(None, "no such file")
        return report
    report.size_bytes, report.is_open = state.size_bytes, state.is_open
    own_check = _OwnWarcCheck(path, report) if "/" not in path else None
    try:
        with files.open(path) as stream:
            for record in _iter_with_ticks(stream, tick):
                _add_to_report(report, record)
                if own_check is not None and isinstance(record, CheckedRecord):
                    own_check.add_record(record)
    except FondsError as error:
        report.add_fault(None, f"cannot read further: {error}")
        return report
    if own_check is not None:
        own_check.compare_index(state)
    elif not report.records and not report.faults:
        report.add_fault(None, "the file has no records")
    return report


def _iter_with_ticks(stream: BinaryIO, tick: Tick) -> Iterator[CheckedRecord | Damage]:
    reported_bytes = 0
    for record in check_records(stream, body_max_bytes=BODY_MAX_BYTES):
        yield record
        if stream.tell() - reported_bytes >= TICK_BYTES:
            reported_bytes = stream.tell()
            tick(reported_bytes)


def _add_to_report(report: WarcReport, record: CheckedRecord | Damage) -> None:
    if isinstance(record, Damage):
        if report.is_open and record.reason is Reason.TRUNCATED_RECORD:
            return  # The rest of it is being written.
        report.add_fault(record.offset, record.detail)
        return
    report.records[record.fields.type or "(no type)"] += 1
    report.matching_digest_count += record.matching_digests
    report.unchecked_digest_count += len(record.unknown)
    for message in record.wrong_digests:
        report.add_fault(record.offset, message)


class _OwnWarcCheck:
    """Additional checks for WARCs written by Fonds, such as the order of records and the CDXJ
    index.
    """

    def __init__(self, name: str, report: WarcReport) -> None:
        self._name = name
        self._report = report
        self._records: dict[int, IndexedRecord] = {}
        self._last_id = ""
        self._record_count = 0

    def add_record(self, record: CheckedRecord) -> None:
        """Check the next record of the WARC and add its faults to the report."""
        fields = record.fields.fields
        record_type = record.fields.type
        if self._record_count == 0 and (
            record_type != "warcinfo" or fields.get("WARC-Filename") != self._name
        ):
            self._report.add_fault(
                record.offset, ("the file does not begin with a warcinfo record with its own name")
            )
        self._record_count += 1
        if record.size_bytes is None:
            self._report.add_fault(record.offset, ("the record does not have its own gzip member"))
        if BLOCK_DIGEST not in fields:
            self._report.add_fault(record.offset, f"the {record_type} record has no digest")
        if record_type == "metadata" and fields.get("WARC-Refers-To") != self._last_id:
            self._report.add_fault(
                record.offset, "the metadata record does not belong to the record before it"
            )
        self._last_id = fields.get("WARC-Record-ID", "")
        if record_type in _INDEXED and not is_tombstone(record.fields.url):
            self._records[record.offset] = _build_indexed_record(record)

    def compare_index(self, state: WarcFileState) -> None:
        """Compare the records read from the WARC with its CDXJ index, and report differences.

        A WARC that is still being written has no complete index, so it is skipped.
        """
        if state.is_open:
            return
        if state.records is None:
            self._report.add_fault(None, f"no CDXJ index next to it; {REINDEX}")
            return
        index_lines = {line.offset: line for line in state.records}
        for offset in sorted(self._records.keys() | index_lines.keys()):
            if message := _compare_index_line(self._records.get(offset), index_lines.get(offset)):
                self._report.add_fault(offset, f"{message}; {REINDEX}")


BLOCK_DIGEST = "WARC-Block-Digest"
REINDEX = "`fonds archive reindex` rebuilds the CDXJ from the records"


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
    """Return a sentence that says how a WARC record and its CDXJ line differ, or None if they
    agree.

    `record` is None if only the line exists, and `line` is None if only the record exists. The URLs
    are not compared.
    """
    if record is None:
        return "the CDXJ lists a record that does not exist"
    if line is None:
        return "the CDXJ has no line for this record"
    field_labels: Mapping[str, str] = {
        "size_bytes": "length",
        "datetime14": "time",
        "sha1hex": "digest",
        "is_revisit": "type",
    }
    differences = [
        label
        for name, label in field_labels.items()
        if getattr(record, name) != getattr(line, name)
    ]
    # The URLs are not compared: the record escapes blanks and control characters, and the index
    # does not.
    return f"the CDXJ has another {', '.join(differences)} for this record" if differences else None
