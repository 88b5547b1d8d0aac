"""Search the bytes of a PDF for version, ids and encryption. Used for files that no library opens.

Source: ISO 32000-2:2020, 7.5.2 (header), 7.5.5 (trailer), 14.4 (file identifiers), annex F.3.3
(linearization dictionary). Strings of a trailer are never encrypted. Time is linear in the size of
the file. 100 occurrences of `/ID` are examined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(rb"%PDF-(\d{1,2}\.\d{1,2})")
_HEX = rb"<([0-9A-Fa-f\s]{0,600})>"
_LITERAL = rb"\(((?:[^\\()]|\\.){0,300})\)"
_STRING = rb"(?:" + _HEX + rb"|" + _LITERAL + rb")"
_IDS = re.compile(rb"/ID\s{0,9}\[\s{0,9}" + _STRING + rb"\s{0,9}" + _STRING, re.DOTALL)
_ENCRYPT = re.compile(rb"/Encrypt[\s<\d]")
_LINEARIZED = re.compile(rb"/Linearized\s{0,9}[\d.]+(?:(?!>>).){0,400}", re.DOTALL)
_PAGES = re.compile(rb"/N\s{0,9}(\d{1,7})\b")
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|\r\n|.)", re.DOTALL)
_OCTAL = b"01234567"
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_HEADER_SEARCH_MAX = 1_000_000
_PDF_MARKS = (b"%PDF-", b"%%EOF", b"/Type /Page", b"/Type/Page", b"startxref")
_HEADER_SEARCH_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a search of a PDF's bytes found; None if unknown.

    - `permanent_id`, `update_id`: file identifiers in lower-case hexadecimal.
    - `encrypted`, `linearized`: whether the file has an encryption or linearization dictionary.
    - `page_count`: number of pages; known for linearized files only.
    """

    pdf_version: str | None
    permanent_id: str | None
    update_id: str | None
    encrypted: bool
    linearized: bool
    page_count: int | None


def strip_leading_junk(data: bytes) -> bytes:
    """Return a PDF without the bytes before its header `%PDF-`, if there are more than the 1,024
    that PDF readers skip; otherwise `data` unchanged.
    """
    start = data.find(b"%PDF-", 0, _HEADER_SEARCH_MAX)
    return data[start:] if start > _HEADER_SEARCH_BYTES else data


def looks_like_pdf(data: bytes) -> bool:
    """Return whether the bytes have any sign of a PDF: its header, a page or its end."""
    return any(mark in data for mark in _PDF_MARKS)


def scan_trailer(data: bytes) -> Trailer:
    """Search the bytes of a PDF for its header, its last `/ID` and its linearization dictionary.
    Never raises.
    """
    header = _HEADER.search(data, 0, _HEADER_SEARCH_MAX)
    ids = _find_last_ids(data)
    linearization_match = _LINEARIZED.search(data, 0, 2 * _HEADER_SEARCH_BYTES)
    pages = _PAGES.search(linearization_match[0]) if linearization_match else None
    return Trailer(
        pdf_version=header[1].decode("ascii") if header else None,
        permanent_id=ids[0],
        update_id=ids[1],
        encrypted=_ENCRYPT.search(data) is not None,
        linearized=linearization_match is not None,
        page_count=int(pages[1]) if pages else None,
    )


def _find_last_ids(data: bytes) -> tuple[str | None, str | None]:
    position = len(data)
    # The last /ID belongs to the newest trailer; a few others may be keys of other dictionaries.
    for _ in range(100):
        position = data.rfind(b"/ID", 0, position)
        if position < 0:
            break
        match = _IDS.match(data, position)
        if match:
            return _encode_hex(match[1], match[2]), _encode_hex(match[3], match[4])
    return None, None


def _encode_hex(hexadecimal: bytes | None, literal: bytes | None) -> str | None:
    if hexadecimal is not None:
        digits = b"".join(hexadecimal.split()).decode("ascii").lower()
        return digits + "0" * (len(digits) % 2) or None
    return _ESCAPE.sub(_unescape, literal or b"").hex() or None


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[0] in _OCTAL:
        return bytes([int(code, 8) & 0xFF])
    if code in (b"\r\n", b"\n", b"\r"):
        return b""
    return _ESCAPED.get(code, code)
