"""The first line of a record: a WARC version or an ARC URL-record line, with known variants.

Source: WARC/1.1 section 4 (version); ARC 1.0 (URL-record definitions of version 1 and 2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_MAX_BYTES = 8 * 1024

WARC_LINE = rb"(?i:WARC)/[0-9][0-9A-Za-z.]{0,9}[ \t\r]{0,8}\n"
r"""Any version, in any case. Some writers double the line end (`\r\r\n`)."""

_SCHEME = rb"[A-Za-z][A-Za-z0-9+.-]{1,30}+:"
LINE_START = rb"(?:" + WARC_LINE + rb"|(?:filedesc:|" + _SCHEME + rb"[^\s])[^\n]{0,8000}+\n)"
"""Cheap first test for a record's first line. `is_record_line` checks it fully."""

_FIRST_LINE = re.compile(LINE_START)
_LINE_START_PATTERN = re.compile(rb"(?<=\n)" + LINE_START)
_IP = re.compile(rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?=[0-9A-Fa-f.]*:)[0-9A-Fa-f.:]{2,45}")
_DATE = re.compile(rb"[0-9]{8,18}")
_LENGTH = re.compile(rb"-?[0-9a-z]{1,12}")


@dataclass(frozen=True, slots=True)
class ArcLine:
    """Fields of the line that begins an ARC record. `middle` has the fields between date and
    length.
    """

    url: bytes
    address: bytes
    date: bytes
    middle: tuple[bytes, ...]
    length: bytes


def split_arc_line(line: bytes) -> ArcLine | None:
    """Split an ARC URL-record line into its fields. Returns None if it is not one.

    The date is a field of 8 to 18 digits, or any field after an IP address. The URL may contain
    blanks. The type may be missing. A `filedesc:` line needs only its length.
    Linear in the line.
    """
    fields = line.rstrip(b"\r\n").split(b" ")
    if len(fields) > 1 and not fields[-1]:
        fields.pop()
    if len(fields) < 2 or not _LENGTH.fullmatch(fields[-1]):
        return None
    if fields[0].startswith(b"filedesc:"):
        address, date = (*fields[1:3], b"-", b"-")[:2] if len(fields) > 3 else (b"-", b"-")
        return ArcLine(fields[0], address, date, tuple(fields[3:-1]), fields[-1])
    date_index = _find_date_index(fields)
    if date_index is None:
        return None
    url = b" ".join(fields[: date_index - 1])
    return ArcLine(
        url,
        fields[date_index - 1],
        fields[date_index],
        tuple(fields[date_index + 1 : -1]),
        fields[-1],
    )


def _find_date_index(fields: list[bytes]) -> int | None:
    """Find the index of the date field.

    An IP address precedes it, or it is numeric and at least type and length follow.
    """
    last = len(fields) - 1
    for index in range(2, last):
        follows_ip = _IP.fullmatch(fields[index - 1]) is not None
        if follows_ip or (_DATE.fullmatch(fields[index]) and index < last - 1):
            return index
    return None


def starts_record(data: bytes) -> bool:
    """Whether unpacked bytes begin with the first line of a WARC or ARC record."""
    line_match = _FIRST_LINE.match(data, 0, LINE_MAX_BYTES)
    return line_match is not None and is_record_line(line_match.group())


def find_record(data: bytes, start: int) -> int | None:
    """Find the first line at or after `start` (at least 1) that begins a record, or None."""
    for line_match in _LINE_START_PATTERN.finditer(data, start):
        if is_record_line(line_match.group()):
            return line_match.start()
    return None


def is_warc_line(line: bytes) -> bool:
    """Whether a record's first line belongs to a WARC record rather than an ARC record."""
    return line[:5].upper() == b"WARC/"


def is_record_line(line: bytes) -> bool:
    """Whether a line that passed the first test is the first line of a record."""
    return is_warc_line(line) or split_arc_line(line) is not None
