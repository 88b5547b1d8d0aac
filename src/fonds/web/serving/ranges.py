"""A part of what is handed out, and nothing at all of what the browser has already.

Source: RFC 9110, sections 13 (conditional requests) and 14 (range requests).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import Response

_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*", re.IGNORECASE)


def part(size: int, asked: str | None) -> tuple[int, int] | None:
    """First byte and the one behind the last of one range of `size` bytes; None: all of them are to be sent.

    Several ranges, other units and what cannot be read are passed over, as they may be. Raises ValueError
    for a range that lies behind the end.
    """
    match = _RANGE.fullmatch(asked or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, end = max(0, size - int(last)), size
        if not int(last):
            raise ValueError("no bytes were asked for")
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= size:
        raise ValueError("the range begins behind the end")
    return start, end


def answer(
    request: Headers, content: bytes, media_type: str, etag: str, headers: Mapping[str, str]
) -> Response:
    """The whole, the part asked for (206, 416), or 304 when the browser has it; `etag` without its quotes."""
    quoted = f'"{etag}"'
    sent = {**headers, "ETag": quoted, "Accept-Ranges": "bytes"}
    known = request.get("if-none-match")
    if known is not None and _names(known, quoted):
        return Response(status_code=304, headers=sent)
    wanted = request.get("range")
    if request.get("if-range", quoted) != quoted:
        wanted = None
    try:
        found = part(len(content), wanted)
    except ValueError:
        told = {**sent, "Content-Range": f"bytes */{len(content)}"}
        return Response(status_code=416, headers=told)
    if found is None:
        return Response(content, media_type=media_type, headers=sent)
    start, end = found
    told = {**sent, "Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
    return Response(content[start:end], 206, told, media_type)


def _names(known: str, quoted: str) -> bool:
    tags = {one.strip().removeprefix("W/") for one in known.split(",")}
    return "*" in tags or quoted in tags
