"""Parse the headers of WARC records and the URL-record lines of ARC records into one type.

Source: WARC/1.0 and 1.1, sections 4 and 5; ARC 1.0, URL-record definitions of version 1 and 2.
Limits: a WARC header has at most 1 MiB, an ARC line 8 KiB. Both are parsed in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from fonds.archive.members.framing import GZIP_MAGIC
from fonds.archive.members.record_line import (
    LINE_MAX_BYTES,
    WARC_LINE,
    is_warc_line,
    split_arc_line,
    starts_record,
)
from fonds.archive.members.record_stream import RecordStream
from fonds.archive.members.zstd import ZSTD_MAGIC
from fonds.archive.warc.header_text import decode_lines, decode_text
from fonds.model.disposition import Reason
from fonds.model.keys import normalize_sha1

HEADER_MAX_BYTES = 1024 * 1024
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
"""Time of a WARC or ARC record whose date cannot be parsed: 1970-01-01, which is never newer than a
valid date.
"""

_WINDOW_BYTES = 4096
_LENGTH = re.compile(r"\d{1,15}")
_HEADER_END = re.compile(rb"\n\r{0,2}\n|\n(?=" + WARC_LINE + rb")")
"""Matches the blank line after a WARC header, or the start of another record where the blank line
is missing.
"""
_USUAL_LINES = (b"WARC/1.0\r\n", b"WARC/1.1\r\n")
_DIGITS = re.compile(r"\d{14}")
_ISO_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?)?)?)?"
    r"\s*(Z|[+-]\d\d:?\d\d)?"
)
_USUAL_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-5][0-9]Z")
_DIGITS_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?(\d{0,9})()")
_CAPITALS = frozenset({"warc", "uri", "id", "ip"})
_FOREIGN_SIGNATURES = {
    b"\x02\x21\x4c\x18": "legacy LZ4 data: unpack it, or repack it with gzip or zstd",
    b"PK\x03\x04": "a ZIP file (the WARC files of a WACZ are in its folder archive/)",
    b"7z\xbc\xaf": "a 7-Zip archive: unpack it first",
    b"Rar!": "a RAR archive: unpack it first",
}


class NotARecordError(Exception):
    """Raised if the bytes at an offset do not begin a WARC or ARC record.

    `reason` is the reason code of the damage. `detail` is a sentence that says what is wrong.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Header of a WARC record. The header of an ARC record is converted to the equivalent WARC
    header.

    `fields`: header values by name in the spelling of the standard; of repeated names, the first
        value.
    `length_bytes`: declared length of the block, which is the content after the header.
    `is_arc`: whether the record is an ARC record.
    """

    fields: Mapping[str, str]
    length_bytes: int
    is_arc: bool

    @property
    def type(self) -> str:
        """WARC record type in lower case, such as `response`; "" if missing."""
        return self.fields.get("WARC-Type", "").lower()

    @property
    def url(self) -> str:
        """Target URI of the record without the angle brackets that some writers add; "" if
        missing.
        """
        url = self.fields.get("WARC-Target-URI", "")
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url

    @property
    def captured_at(self) -> datetime:
        """Date of the record (aware UTC); 1970-01-01 (UNDATED) if it cannot be parsed."""
        return parse_date(self.fields.get("WARC-Date", "")) or UNDATED

    @property
    def digest(self) -> str | None:
        """Declared SHA-1 of the record's payload in base32; None if missing or if another hash is
        declared.
        """
        declared_digest = self.fields.get("WARC-Payload-Digest")
        if declared_digest is None and self.type in ("resource", "conversion"):
            # Without an HTTP head, the block is the payload.
            declared_digest = self.fields.get("WARC-Block-Digest")
        return normalize_sha1(declared_digest) if declared_digest else None

    @property
    def may_hold_http(self) -> bool:
        """Whether the content of the record may begin with an HTTP response head, judging by record
        type and media type.
        """
        content_type = self.fields.get("Content-Type", "").lower()
        return self.type in ("response", "revisit") or (
            content_type.startswith("application/http")
            and self.type in ("resource", "conversion", "continuation")
        )


def read_fields(records: RecordStream) -> RecordFields:
    """Read the header of the WARC or ARC record at the stream's current position, and move the
    stream past it.

    Raises NotARecordError if no valid header begins there, and MemberError if decompression fails.
    """
    window = records.peek(_WINDOW_BYTES)
    if not window.startswith(_USUAL_LINES):
        if not starts_record(window):
            window = records.peek(LINE_MAX_BYTES, joining=True)
        if not starts_record(window):
            raise _build_no_record_error(records, window)
        if not is_warc_line(window):
            return _read_arc_line(records, window)
    end = _HEADER_END.search(window)
    while end is None:
        if len(window) >= HEADER_MAX_BYTES:
            raise NotARecordError(Reason.DAMAGED_RECORD, "the record's header has no end")
        longer = records.peek(len(window) * 4, joining=True)
        if len(longer) == len(window):
            raise records.get_pending_fault() or NotARecordError(
                Reason.TRUNCATED_RECORD, "the file ends inside the record's header"
            )
        window = longer
        end = _HEADER_END.search(window)
    if len(end.group()) == 1:
        raise NotARecordError(
            Reason.DAMAGED_RECORD, "another record begins before the end of the header"
        )
    header = parse_warc_header(window[: end.end()])
    records.skip(end.end())
    return header


def _build_no_record_error(records: RecordStream, window: bytes) -> Exception:
    fault = records.get_pending_fault()
    if fault is not None and len(window) < _WINDOW_BYTES:
        return fault
    if _is_cut_header(window):
        return NotARecordError(Reason.TRUNCATED_RECORD, "the file ends inside the record's header")
    description = _FOREIGN_SIGNATURES.get(window[:4], f"{window[:24]!r}")
    return NotARecordError(Reason.DAMAGED_RECORD, f"not a WARC or ARC record, but {description}")


def _is_cut_header(window: bytes) -> bool:
    """Return whether the last few bytes of a file may be the start of a record or of a compressed
    member.
    """
    starts = (*_USUAL_LINES, GZIP_MAGIC, ZSTD_MAGIC)
    return any(start.startswith(window) for start in starts)


def parse_warc_header(header: bytes) -> RecordFields:
    """Parse the header of a WARC record, including the blank line after it.

    Raises NotARecordError if the header has no valid Content-Length.
    """
    # Some writers double the carriage return.
    block = header.partition(b"\n")[2].replace(b"\r\r\n", b"\r\n")
    lines = decode_lines(block)
    if b"\n " in block or b"\n\t" in block:
        lines = _unfold(lines)
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(_SPELLINGS.get(name) or _canonicalize(name), value.strip())
        elif not line.strip():
            break
    length = fields.get("Content-Length", "")
    if not _LENGTH.fullmatch(length):
        raise NotARecordError(
            Reason.DAMAGED_RECORD, f"invalid Content-Length of the record: {length[:40]!r}"
        )
    return RecordFields(fields, int(length), is_arc=False)


def _unfold(lines: list[str]) -> list[str]:
    """Join each header line with the continuation lines after it, which begin with a blank or tab.

    Stops at the first blank line. A line without a colon is dropped with its continuation lines.
    """
    joined_lines: list[list[str]] = []
    parts: list[str] | None = None
    for line in lines:
        text = line.rstrip()
        if not text:
            break
        if parts is not None and text[0] in " \t":
            parts.append(text)
            continue
        parts = [text]
        if ":" in text:
            joined_lines.append(parts)
    return ["".join(parts) for parts in joined_lines]


def _canonicalize(name: str) -> str:
    words = name.strip().lower().split("-")
    return "-".join(w.upper() if w in _CAPITALS else w.capitalize() for w in words)


_SPELLINGS = {
    name: name
    for name in (
        "WARC-Type",
        "WARC-Record-ID",
        "WARC-Date",
        "WARC-Target-URI",
        "WARC-IP-Address",
        "WARC-Payload-Digest",
        "WARC-Block-Digest",
        "WARC-Concurrent-To",
        "WARC-Warcinfo-ID",
        "WARC-Filename",
        "WARC-Identified-Payload-Type",
        "WARC-Profile",
        "WARC-Refers-To",
        "WARC-Refers-To-Date",
        "WARC-Refers-To-Target-URI",
        "WARC-Truncated",
        "Content-Type",
        "Content-Length",
    )
}


def _read_arc_line(records: RecordStream, window: bytes) -> RecordFields:
    line = window[: window.index(b"\n") + 1]
    fields = parse_arc_line(line)
    records.skip(len(line))
    return fields


def parse_arc_line(line: bytes) -> RecordFields:
    """Parse the URL-record line of an ARC record: version 1 (5 fields), version 2 (10 fields), or a
    variant.

    Raises NotARecordError if the line is invalid.
    """
    arc_line = split_arc_line(line)
    if arc_line is None or not _LENGTH.fullmatch(length := decode_text(arc_line.length)):
        raise NotARecordError(
            Reason.DAMAGED_RECORD, (f"invalid length in the ARC line: {decode_text(line)[:80]!r}")
        )
    url, date, middle = (
        decode_text(arc_line.url),
        decode_text(arc_line.date),
        [decode_text(part) for part in arc_line.middle],
    )
    fields = {
        "WARC-Type": "warcinfo" if url.startswith("filedesc:") else "response",
        "WARC-Target-URI": url,
        "WARC-IP-Address": decode_text(arc_line.address),
        "WARC-Date": date,
        # Version 2 has result code, checksum, location, offset and file name between type and
        # length.
        "Content-Type": " ".join(middle[:-5] if len(middle) >= 6 else middle),
        "Content-Length": length,
    }
    digits = _DIGITS.match(date)
    moment = parse_date(date) or parse_date(digits.group() if digits else "")
    if moment is not None:
        fields["WARC-Date"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return RecordFields(fields, int(length), is_arc=True)


def parse_date(text: str) -> datetime | None:
    """Parse the date of a WARC or ARC record: ISO 8601, full or shortened, or 8 to 17 digits.

    Returns aware UTC, or None if the text is not a date. Digits after the microseconds are ignored.
    """
    stripped_text = text.strip()
    if _USUAL_DATE.fullmatch(stripped_text):
        try:
            return datetime.fromisoformat(stripped_text)
        except ValueError:
            return None
    match = _DIGITS_DATE.fullmatch(stripped_text) or _ISO_DATE.fullmatch(stripped_text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    # datetime has no leap seconds, so use the last second of the minute.
    clock = (int(hour or 0), int(minute or 0), min(int(second or 0), 59))
    microsecond = int((fraction or "")[:6].ljust(6, "0"))
    offset = "+00:00" if zone in (None, "", "Z") else zone
    try:
        local = datetime(int(year), int(month or 1), int(day or 1), *clock, microsecond, tzinfo=UTC)
        naive = local.replace(tzinfo=None).isoformat()
        return datetime.fromisoformat(naive + offset).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
