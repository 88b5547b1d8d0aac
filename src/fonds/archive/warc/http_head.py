"""Lenient parsing of archived HTTP response heads. The captures cannot be requested again, so
faults are tolerated.

Source: RFC 9112, sections 2 to 5, with the tolerances of browsers.
Limits: a head has at most 256 KiB, with at most 20 interim responses before it.
"""

from __future__ import annotations

import re

from fonds.archive.warc.header_text import decode_lines
from fonds.model.exchange import HttpHead

HEAD_MAX_BYTES = 256 * 1024
"""Number of bytes searched for the blank line that ends an HTTP head. Without one, all these bytes
count as the head.
"""

_INTERIM_MAX = 20
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"(?:HTTP|ICY)\b[^\r\n]{0,8000}", re.IGNORECASE)
_STATUS_CODE = re.compile(r"\S+\s+([1-9]\d\d)(?!\d)")
_NEXT_RESPONSE = re.compile(rb"HTTP/\d")
_HEADER_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}[ \t]*:")
_BODY_LINES = (b"\n<", b"\n%PDF-")


def looks_like_http(block: bytes) -> bool:
    """Return whether the block of a WARC record begins with an HTTP status line."""
    return block.startswith(b"HTTP/") or _STATUS_LINE.match(block) is not None


def find_head_end(window: bytes, start: int = 0) -> int | None:
    """Return the index in `window` just past the HTTP head that begins at `start`, including its
    blank line.

    The head also ends before a line that begins with `<` or `%PDF-`. Returns None if its end is not
    in `window`.
    """
    blank_line = _BLANK_LINE.search(window, start)
    stop = blank_line.start() if blank_line else len(window)
    end = blank_line.end() if blank_line else None
    for body_line in _BODY_LINES:
        index = window.find(body_line, start, stop)
        if index >= 0:
            stop, end = index, index + 1
    return end


def parse_head(window: bytes, first_end: int | None = None) -> tuple[HttpHead, int] | None:
    """Parse the HTTP response head at the start of the block of a WARC record.

    Returns the head and its length in bytes, or None if the block does not begin with a head.

    `window` is the first HEAD_MAX_BYTES of the block, or all of it. A head without a blank line
    ends where a line begins with `<` or `%PDF-`, else with the window. Interim responses (1xx) are
    skipped. `status` is 0 if there is no readable code. Header lines without a status line count as
    a head if the first line is a header line. `first_end` is the result of `find_head_end(window)`,
    if the caller knows it.
    """
    if not looks_like_http(window) and not _HEADER_LINE.match(window):
        return None
    start, known_end = 0, first_end
    for _ in range(_INTERIM_MAX + 1):
        end = known_end or find_head_end(window, start) or len(window)
        head = _parse_lines(window[start:end])
        if not (100 <= head.status < 200 and _NEXT_RESPONSE.match(window, end)):
            break
        start, known_end = end, None
    return head, end


def _parse_lines(head: bytes) -> HttpHead:
    lines = decode_lines(head)
    status_line = lines.pop(0).strip() if looks_like_http(head) else ""
    code = _STATUS_CODE.match(status_line)
    return HttpHead(
        status=int(code.group(1)) if code else 0,
        status_line=status_line,
        headers=_parse_headers(lines),
    )


def _parse_headers(lines: list[str]) -> tuple[tuple[str, str], ...]:
    headers: list[tuple[str, str]] = []
    folded_lines: list[str] = []
    for line in lines:
        if line[:1] in (" ", "\t") and headers:
            folded_lines.append(line.strip())
            continue
        if folded_lines:
            _unfold(headers, folded_lines)
        name, colon, value = line.partition(":")
        if colon and name.strip():
            headers.append((name.strip(), value.strip()))
    if folded_lines:
        _unfold(headers, folded_lines)
    return tuple(headers)


def _unfold(headers: list[tuple[str, str]], folded_lines: list[str]) -> None:
    """Append the continuation lines in `folded_lines` to the value of the last HTTP header, and
    empty the list.

    All lines of a header are joined at once, so that a header with many lines takes linear time.
    """
    name, value = headers[-1]
    headers[-1] = (name, " ".join([value, *folded_lines]).strip())
    folded_lines.clear()


def parse_media_type(content_type: str | None) -> str | None:
    """Return the media type of a Content-Type value in lower case, without parameters; None if it
    is empty.
    """
    if content_type is None:
        return None
    return content_type.partition(";")[0].partition(",")[0].strip().lower() or None
