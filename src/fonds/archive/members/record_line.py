"""The first line of a record: a WARC version or an ARC URL-record line, also an odd one.

Source: WARC/1.1 section 4 (version); ARC 1.0 (URL-record definitions of version 1 and 2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_MAX_BYTES = 8 * 1024

WARC_LINE = rb"(?i:WARC)/[0-9][0-9A-Za-z.]{0,9}[ \t\r]{0,8}\n"
"""Any version, in any case; some writers ended lines twice over (`\\r\\r\\n`)."""

_SCHEME = rb"[A-Za-z][A-Za-z0-9+.-]{1,30}+:"
LINE_START = rb"(?:" + WARC_LINE + rb"|(?:filedesc:|" + _SCHEME + rb"[^\s])[^\n]{0,8000}+\n)"
"""What a record's first line looks like at first sight; `is_record_line` looks closer."""

_FIRST_LINE = re.compile(LINE_START)
_LINE_START_PATTERN = re.compile(rb"(?<=\n)" + LINE_START)
_IP = re.compile(rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?=[0-9A-Fa-f.]*:)[0-9A-Fa-f.:]{2,45}")
_DATE = re.compile(rb"[0-9]{8,18}")
_LENGTH = re.compile(rb"-?[0-9a-z]{1,12}")


@dataclass(frozen=True, slots=True)
class ArcLine:
    """The fields of an ARC URL-record line; `middle` is what stands between date and length."""

    url: bytes
    address: bytes
    date: bytes
    middle: tuple[bytes, ...]
    length: bytes


def split_arc_line(line: bytes) -> ArcLine | None:
    """A line's fields; None when it is no URL-record line.

    The date is 8 to 18 digits, or whatever follows an IP address; a URL may hold blanks before it. The
    type may be missing. Of a `filedesc:` line nothing need be there but its length. Linear in the line.
    """
    fields = line.rstrip(b"\r\n").split(b" ")
    if len(fields) > 1 and not fields[-1]:
        fields.pop()
    if len(fields) < 2 or not _LENGTH.fullmatch(fields[-1]):
        return None
    if fields[0].startswith(b"filedesc:"):
        address, date = (*fields[1:3], b"-", b"-")[:2] if len(fields) > 3 else (b"-", b"-")
        return ArcLine(fields[0], address, date, tuple(fields[3:-1]), fields[-1])
    at = _find_date_index(fields)
    if at is None:
        return None
    url = b" ".join(fields[: at - 1])
    return ArcLine(url, fields[at - 1], fields[at], tuple(fields[at + 1 : -1]), fields[-1])


def _find_date_index(fields: list[bytes]) -> int | None:
    """Which field is the date: behind it stand at least type and length, or an IP address before it."""
    last = len(fields) - 1
    for at in range(2, last):
        behind_ip = _IP.fullmatch(fields[at - 1]) is not None
        if behind_ip or (_DATE.fullmatch(fields[at]) and at < last - 1):
            return at
    return None


def starts_record(data: bytes) -> bool:
    """Whether unpacked bytes begin with the first line of a WARC or ARC record."""
    found = _FIRST_LINE.match(data, 0, LINE_MAX_BYTES)
    return found is not None and is_record_line(found.group())


def find_record(data: bytes, start: int) -> int | None:
    """Where from `start` (at least 1) on a line begins a record, or None."""
    for found in _LINE_START_PATTERN.finditer(data, start):
        if is_record_line(found.group()):
            return found.start()
    return None


def is_warc_line(line: bytes) -> bool:
    """Whether the first line of a record is that of a WARC record, not of an ARC record."""
    return line[:5].upper() == b"WARC/"


def is_record_line(line: bytes) -> bool:
    """Whether a line that looked like the first of a record is one."""
    return is_warc_line(line) or split_arc_line(line) is not None
