"""The headers of a capture that is replayed: what may be done with it, and what its server once said.

Source: RFC 9110, section 5 (fields); the names of web archives for the headers of an original.
Bound: at most `ORIGINAL_MAX` headers of an original, `ORIGINAL_MAX_BYTES` together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from fonds.formats.warc.http_head import media_type
from fonds.model.capture import REVISIT_MIME
from fonds.replay.bodies import Replayed
from fonds.web.access.security import REPLAY_POLICY

ORIGINAL = "X-Archive-Orig-"
ORIGINAL_MAX, ORIGINAL_MAX_BYTES = 100, 16 * 1024
SHOWN_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""What a browser may show; all else is a download."""

POLICY_HEADERS = {
    "Content-Security-Policy": REPLAY_POLICY,
    "Cache-Control": "private, no-cache",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_PARAMETER = r"""\s*;\s*[\w.+-]{1,40}="?[\w.+:-]{1,60}"?"""
_TYPE = re.compile(rf"[\w.+-]{{1,100}}/[\w.+-]{{1,100}}(?:{_PARAMETER}){{0,5}}", re.ASCII)


def replay_headers(found: Replayed) -> dict[str, str]:
    """All but those that link it to others."""
    declared = found.http.get("content-type") if found.http else None
    kind = declared.strip() if declared and _TYPE.fullmatch(declared.strip()) else _noted(found)
    headers = {**original_headers(found), **POLICY_HEADERS, "Content-Type": kind}
    if media_type(kind) not in SHOWN_TYPES:
        ending = ".pdf" if media_type(kind) == "application/pdf" else ".bin"
        name = f"{found.row.sha1hex}{ending}"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return headers


def _noted(found: Replayed) -> str:
    """The type the bytes were found to have."""
    types = (found.row.mimetype, found.source.mimetype)
    fitting = (one for one in types if one != REVISIT_MIME and _TYPE.fullmatch(one))
    return next(fitting, "application/octet-stream")


def original_headers(found: Replayed) -> Mapping[str, str]:
    """What the server said, under names that mean nothing to a browser; of one name all values, joined.
    What is not ASCII is percent-encoded."""
    headers: dict[str, str] = {}
    spelled: dict[str, str] = {}
    left_out = size_bytes = 0
    for name, value in found.http.headers if found.http else ():
        plain = name if name.lower().startswith(ORIGINAL.lower()) else f"{ORIGINAL}{name}"
        clean = quote(_CONTROLS.sub(" ", value).strip(), safe=_PRINTABLE, errors="replace")
        known = spelled.setdefault(plain.lower(), plain)
        is_new = known not in headers
        size = size_bytes + len(plain) + len(clean)
        too_many = is_new and len(headers) >= ORIGINAL_MAX
        if too_many or size > ORIGINAL_MAX_BYTES or not _NAME.fullmatch(plain):
            left_out += 1
            continue
        size_bytes = size
        headers[known] = clean if is_new else f"{headers[known]}, {clean}"
    if left_out:
        headers["X-Archive-Headers-Left-Out"] = str(left_out)
    return headers
