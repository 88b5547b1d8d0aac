"""Downloads: range requests, conditional requests and file names.

Source: RFC 9110, sections 13 (conditional requests) and 14 (range requests), RFC 6266
    (Content-Disposition), RFC 8187 (its `filename*`).
Limits: a file name has at most 120 characters and 200 bytes of UTF-8.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import Response

from fonds.urls import parts

_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*", re.IGNORECASE)


def parse_range(size: int, range_header: str | None) -> tuple[int, int] | None:
    """Parse the Range header of a request for content of `size` bytes.

    Return the start and exclusive end of the requested byte range; None means the whole content.
    Several ranges, other units and unreadable headers are ignored, as the RFC allows. Raises
    ValueError for an empty range and for one past the end.
    """
    match = _RANGE.fullmatch(range_header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, end = max(0, size - int(last)), size
        if not int(last):
            raise ValueError("the range is empty")
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= size:
        raise ValueError("the range starts after the end")
    return start, end


def build_response(
    request: Headers, content: bytes, media_type: str, etag: str, headers: Mapping[str, str]
) -> Response:
    """Return the response to a download: all of `content`, the requested range (206, 416), or 304
    if the browser already has the content.

    `etag`: id of the content, without quotes.
    """
    quoted_etag = f'"{etag}"'
    base_headers = {**headers, "ETag": quoted_etag, "Accept-Ranges": "bytes"}
    known_etags = request.get("if-none-match")
    if known_etags is not None and _matches_etag(known_etags, quoted_etag):
        return Response(status_code=304, headers=base_headers)
    range_header = request.get("range")
    if request.get("if-range", quoted_etag) != quoted_etag:
        range_header = None
    try:
        byte_range = parse_range(len(content), range_header)
    except ValueError:
        range_headers = {**base_headers, "Content-Range": f"bytes */{len(content)}"}
        return Response(status_code=416, headers=range_headers)
    if byte_range is None:
        return Response(content, media_type=media_type, headers=base_headers)
    start, end = byte_range
    range_headers = {**base_headers, "Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
    return Response(content[start:end], 206, range_headers, media_type)


def _matches_etag(known_etags: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in known_etags.split(",")}
    return "*" in tags or etag in tags


# File names of downloads.


MAX_CHARS, MAX_BYTES = 120, 200
_BLANKS = re.compile(r"\s+")
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f"*/:<>?\\|]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_UNQUOTED_CHARS = "!#$&+-.^_`|~"


def build_disposition(kind: Literal["inline", "attachment"], name: str) -> str:
    """Build the value of a Content-Disposition header: an ASCII file name for old clients, and the
    exact name if it differs.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[%\"\\]", "_", plain).strip()
    plain = plain if plain.strip(".") and not plain.startswith(".") else f"file{plain}"
    disposition = f'{kind}; filename="{plain}"'
    return (
        disposition
        if plain == name
        else f"{disposition}; filename*=UTF-8''{quote(name, safe=_UNQUOTED_CHARS)}"
    )


def build_file_name(title: str, ending: str, default: str) -> str:
    """Build a file name that is valid on every system from a title or the last part of a URL's
    path.

    `ending` is a suffix such as `.pdf`. Return `default` with the ending if nothing usable is left.
    """
    words = parts.file_name(title) if "://" in title else title
    visible = "".join(
        character
        for character in words
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    )
    plain = _BLANKS.sub(" ", _NOT_IN_NAMES.sub(" ", unicodedata.normalize("NFC", visible)))
    if plain.lower().endswith(ending):
        plain = plain[: -len(ending)]
    truncated_name = plain.strip(" .")[:MAX_CHARS].encode()[: MAX_BYTES - len(ending)]
    name = truncated_name.decode("utf-8", "ignore").strip(" .")
    if not name or _DEVICES.match(name):
        name = default
    return f"{name}{ending}"
