"""A manifest as somebody sends it: a file or pasted text of the form of our page, or the bytes alone.

Source: RFC 7578 (multipart/form-data), RFC 2046, section 5.1.1 (boundaries).
"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from fonds.library.searching.manifest import MANIFEST_BYTES_MAX
from fonds.web.problems import RefusedError
from fonds.web.serving.lanes import media_type

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FIELDS = ("file", "pasted")
PARTS_MAX = 4
FRAME_BYTES_MAX = 10_000
"""What stands around the parts of a form."""
NONE_OF_OURS = "The form is none of these pages."
TOO_LONG = f"A manifest has at most {MANIFEST_BYTES_MAX:,} bytes."
_BOUNDARY = re.compile(r'boundary="?([0-9A-Za-z\'()+_,./:=? -]{1,70}?)"?\s*(?:;|$)')
_NAME = re.compile(
    rb'(?i)^content-disposition:\s*form-data;(?:[^\r\n]*;)?\s*name="(\w{1,20})"', re.M
)


async def _sent(request: Request) -> bytes:
    """The body. Raises RefusedError 413 for one that is longer than a manifest can be."""
    sent = bytearray()
    async for piece in request.stream():
        sent += piece
        if len(sent) > MANIFEST_BYTES_MAX + FRAME_BYTES_MAX:
            raise RefusedError(413, TOO_LONG)
    return bytes(sent)


Sent = Annotated[bytes, Depends(_sent)]


def manifest_sent(request: Request, sent: bytes) -> bytes:
    """The file of the form or, where none was chosen, what was pasted; b"" where there is neither.

    Raises RefusedError 400 for what is none of our forms.
    """
    kind = media_type(request.headers)
    if kind == FORM:
        fields = _pairs(sent)
    elif kind == MULTIPART:
        fields = _parts(request.headers.get("content-type", ""), sent)
    else:
        raise RefusedError(400, NONE_OF_OURS)
    if not fields.keys() <= set(FIELDS):
        raise RefusedError(400, NONE_OF_OURS)
    return next((fields[name] for name in FIELDS if fields.get(name, b"").strip()), b"")


def _pairs(sent: bytes) -> dict[str, bytes]:
    try:
        text = sent.decode("ascii")
        pairs = parse_qsl(text, max_num_fields=PARTS_MAX, keep_blank_values=True)
    except ValueError:
        raise RefusedError(400, NONE_OF_OURS) from None
    return {name: value.encode("utf-8", "replace") for name, value in pairs}


def _parts(content_type: str, sent: bytes) -> dict[str, bytes]:
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise RefusedError(400, NONE_OF_OURS)
    between = b"\r\n--" + boundary[1].encode()
    fields: dict[str, bytes] = {}
    # What stands before the first boundary and behind the last is no part.
    for part in (b"\r\n" + sent).split(between, PARTS_MAX + 1)[1:-1]:
        head, blank, value = part.partition(b"\r\n\r\n")
        named = _NAME.search(head)
        if not blank or named is None or len(head) > FRAME_BYTES_MAX:
            raise RefusedError(400, NONE_OF_OURS)
        fields[named[1].decode("ascii")] = value
    return fields
