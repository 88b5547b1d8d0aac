"""A part of what is handed out, and nothing at all of what the browser has already.

Source: RFC 9110, sections 13 (conditional requests) and 14 (range requests).
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
    """First byte and the one behind the last of one range of `size` bytes; None: all of them are to be sent.

    Several ranges, other units and what cannot be read are passed over, as they may be. Raises ValueError
    for a range that lies behind the end.
    """
    match = _RANGE.fullmatch(range_header or "")
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


def build_response(
    request: Headers, content: bytes, media_type: str, etag: str, headers: Mapping[str, str]
) -> Response:
    """The whole, the part asked for (206, 416), or 304 when the browser has it; `etag` without its quotes."""
    quoted = f'"{etag}"'
    sent = {**headers, "ETag": quoted, "Accept-Ranges": "bytes"}
    known = request.get("if-none-match")
    if known is not None and _matches_etag(known, quoted):
        return Response(status_code=304, headers=sent)
    wanted = request.get("range")
    if request.get("if-range", quoted) != quoted:
        wanted = None
    try:
        found = parse_range(len(content), wanted)
    except ValueError:
        told = {**sent, "Content-Range": f"bytes */{len(content)}"}
        return Response(status_code=416, headers=told)
    if found is None:
        return Response(content, media_type=media_type, headers=sent)
    start, end = found
    told = {**sent, "Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
    return Response(content[start:end], 206, told, media_type)


def _matches_etag(etag: str, etags: str) -> bool:
    tags = {one.strip().removeprefix("W/") for one in etag.split(",")}
    return "*" in tags or etags in tags


# The name under which a file is kept by whoever is handed it.
#
# Source: RFC 6266 (Content-Disposition), RFC 8187 (its `filename*`).
# Limits: a name has at most 120 characters and 200 bytes of UTF-8.


MAX_CHARS, MAX_BYTES = 120, 200
_BLANKS = re.compile(r"\s+")
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f"*/:<>?\\|]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_UNQUOTED_CHARS = "!#$&+-.^_`|~"


def build_disposition(kind: Literal["inline", "attachment"], name: str) -> str:
    """The header's value: the name in ASCII for those who read no other, and as it is."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[%\"\\]", "_", plain).strip()
    plain = plain if plain.strip(".") and not plain.startswith(".") else f"file{plain}"
    told = f'{kind}; filename="{plain}"'
    return (
        told if plain == name else f"{told}; filename*=UTF-8''{quote(name, safe=_UNQUOTED_CHARS)}"
    )


def build_file_name(title: str, ending: str, default: str) -> str:
    """A name every system takes, made of a title or the last part of a URL's path, with `ending` as `.pdf`;
    `default` where nothing is left of it."""
    words = parts.file_name(title) if "://" in title else title
    shown = "".join(one for one in words if unicodedata.category(one) not in ("Cc", "Cf", "Cs"))
    plain = _BLANKS.sub(" ", _NOT_IN_NAMES.sub(" ", unicodedata.normalize("NFC", shown)))
    if plain.lower().endswith(ending):
        plain = plain[: -len(ending)]
    cut = plain.strip(" .")[:MAX_CHARS].encode()[: MAX_BYTES - len(ending)]
    name = cut.decode("utf-8", "ignore").strip(" .")
    if not name or _DEVICES.match(name):
        name = default
    return f"{name}{ending}"
