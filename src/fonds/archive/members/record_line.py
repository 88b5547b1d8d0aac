"""Recognise the first line of a WARC or ARC record: a WARC version line, or an ARC URL-record line.

Variants written by known programs are accepted too.

Source: WARC/1.1 section 4 (version); ARC 1.0 (URL-record definitions of version 1 and 2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_MAX_BYTES = 8 * 1024

WARC_LINE = rb"(?i:WARC)/[0-9][0-9A-Za-z.]{0,9}[ \t\r]{0,8}\n"
r"""Matches a WARC version line with any version, in any case. Some writers double the line end
(`\r\r\n`).
"""

_SCHEME = rb"[A-Za-z][A-Za-z0-9+.-]{1,30}+:"
LINE_START = rb"(?:" + WARC_LINE + rb"|(?:filedesc:|" + _SCHEME + rb"[^\s])[^\n]{0,8000}+\n)"
"""Cheap first test for the first line of a WARC or ARC record. `is_record_line` then checks the
line fully.
"""

_FIRST_LINE = re.compile(LINE_START)
_LINE_START_PATTERN = re.compile(rb"(?<=\n)" + LINE_START)
_IP = re.compile(rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?=[0-9A-Fa-f.]*:)[0-9A-Fa-f.:]{2,45}")
_DATE = re.compile(rb"[0-9]{8,18}")
_LENGTH = re.compile(rb"-?[0-9a-z]{1,12}")


@dataclass(frozen=True, slots=True)
class ArcLine:
    """Fields of the line that begins an ARC record.

    `url`: URL of the capture.
    `address`: IP address of the server; `-` if missing.
    `date`: capture time as written in the line.
    `middle`: the fields between `date` and `length`, such as the media type; may be empty.
    `length`: declared length of the record in bytes, as text.
    """

    url: bytes
    address: bytes
    date: bytes
    middle: tuple[bytes, ...]
    length: bytes


def split_arc_line(line: bytes) -> ArcLine | None:
    """Split the URL-record line of an ARC record into its fields. Return None if it is no such
    line.

    The date is a field of 8 to 18 digits, or any field after an IP address. The URL may contain
    blanks. The media type may be missing. A `filedesc:` line, which describes the ARC file itself,
    needs only its length. Takes time linear in the length of the line.
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
    """Return the index of the date among the fields of an ARC URL-record line, or None.

    The date follows an IP address, or it is numeric and followed by at least the media type and
    length.
    """
    last = len(fields) - 1
    for index in range(2, last):
        follows_ip = _IP.fullmatch(fields[index - 1]) is not None
        if follows_ip or (_DATE.fullmatch(fields[index]) and index < last - 1):
            return index
    return None


def starts_record(data: bytes) -> bool:
    """Return whether decompressed bytes begin with the first line of a WARC or ARC record."""
    line_match = _FIRST_LINE.match(data, 0, LINE_MAX_BYTES)
    return line_match is not None and is_record_line(line_match.group())


def find_record(data: bytes, start: int) -> int | None:
    """Return the index in `data` of the first line that begins a WARC or ARC record, or None.

    The search begins at the index `start`, which must be at least 1.
    """
    for line_match in _LINE_START_PATTERN.finditer(data, start):
        if is_record_line(line_match.group()):
            return line_match.start()
    return None


def is_warc_line(line: bytes) -> bool:
    """Return whether the first line of a record belongs to a WARC record rather than an ARC
    record.
    """
    return line[:5].upper() == b"WARC/"


def is_record_line(line: bytes) -> bool:
    """Return whether a line that `LINE_START` matches is the first line of a WARC or ARC record."""
    return is_warc_line(line) or split_arc_line(line) is not None
