"""Decode text strings and dates in PDF dictionaries, and clean all text of a PDF.

Source: ISO 32000-2:2020, 7.9.2 (string types), 7.9.4 (dates), annex D.2 (PDFDocEncoding).
Linear in the string.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_BOMS = (
    (b"\xfe\xff", "utf-16-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xef\xbb\xbf", "utf-8"),
)
# Code points of PDFDocEncoding where Latin-1 has control characters; None is undefined.
_PDFDOC_18 = "\u02d8\u02c7\u02c6\u02d9\u02dd\u02db\u02da\u02dc"
_PDFDOC_80 = (
    "\u2022\u2020\u2021\u2026\u2014\u2013\u0192\u2044\u2039\u203a\u2212\u2030\u201e\u201c\u201d\u2018"
    "\u2019\u201a\u2122\ufb01\ufb02\u0141\u0152\u0160\u0178\u017d\u0131\u0142\u0153\u0161\u017e"
)
_PDFDOC = {
    **{0x18 + place: character for place, character in enumerate(_PDFDOC_18)},
    **{0x80 + place: character for place, character in enumerate(_PDFDOC_80)},
    0x9F: None,
    0xA0: "\u20ac",
    0xAD: None,
}
_LANGUAGE_ESCAPE = re.compile("\x1b[A-Za-z]{2}(?:-?[A-Za-z]{2})?\x1b")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_INVISIBLE = "\u00ad\ufeff"
_LIGATURES = {
    **dict(
        zip(
            map(chr, range(0xFB00, 0xFB07)),
            ["ff", "fi", "fl", "ffi", "ffl", "st", "st"],
            strict=True,
        )
    ),
    **dict(zip(map(chr, range(0xFB13, 0xFB18)), ["մն", "մե", "մի", "վն", "մխ"], strict=True)),
}
# An offset may have an extra apostrophe, begin with two signs, or follow a Z.
_TIME = r"(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d))?)?)?)?"
_OFFSET = r"\s*(?:Z(?:\d\d'?(?:\d\d)?)?|([+-])-?(\d\d?)(?:'?(\d\d))?)?'{0,2}\s*"
_DATE = re.compile(r"(?:D:)?\s*(\d{4})(?:" + _TIME + ")?" + _OFFSET, re.ASCII)
# Distiller wrote the years from 2000 on as 19 plus the years since 1900: 19104 is 2004.
_DATE_19100 = re.compile(r"(?:D:)?\s*19(1\d\d)" + _TIME + _OFFSET, re.ASCII)
_YEAR_19100 = 1900


def clean_stored_text(text: str) -> str:
    """Return text that every store accepts: LF as line end, and no control characters except tab
    and line feed.

    Lone surrogates and noncharacters are removed too.
    """
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def clean_text(text: str) -> str:
    """Clean text for reading and search: LF as line end, ligatures as separate letters, and no soft
    hyphens, byte order marks and control characters except tab and line feed.
    """
    return spell_out_ligatures(clean_stored_text(text))


def spell_out_ligatures(text: str) -> str:
    """Write the ligatures of a text as separate letters, and remove soft hyphens and byte order
    marks.
    """
    if text.isascii():
        return text
    # Testing for each of a few characters is faster than one search for all.
    for sign in _INVISIBLE:
        if sign in text:
            text = text.replace(sign, "")
    for sign, letters in _LIGATURES.items():
        if sign in text:
            text = text.replace(sign, letters)
    return text


def decode_text_string(raw: bytes) -> str:
    """Decode a text string of a PDF. Never raises.

    A byte order mark decides the encoding. Without one, non-ASCII bytes that are valid UTF-8 are
    decoded as UTF-8, because many programs omit the mark. All others are decoded as PDFDocEncoding.
    """
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            text = raw[len(mark) :].decode(encoding, "replace")
            return clean_text(_LANGUAGE_ESCAPE.sub("", text)).strip()
    if not raw.isascii():
        try:
            return clean_text(raw.decode("utf-8")).strip()
        except UnicodeDecodeError:
            pass
    return clean_text(raw.decode("latin-1").translate(_PDFDOC)).strip()


def convert_pdf_date(text: str) -> str:
    """Convert a PDF date to ISO 8601 in UTC: `D:20200326012657-07'00'` to
    `2020-03-26T08:26:57Z`.

    A date without an offset is taken as UTC. ISO 8601 dates and some faulty forms are accepted.
    Text that is not a date is returned unchanged.
    """
    try:
        moment = _parse_pdf_date(text) or _parse_iso_date(text)
        return text if moment is None else _format_iso(moment)
    except (ValueError, OverflowError):
        return text


def _parse_pdf_date(text: str) -> datetime | None:
    match = _DATE.fullmatch(text)
    match_19100 = None if match else _DATE_19100.fullmatch(text)
    date_match = match or match_19100
    if date_match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in date_match.groups()[:6])
    offset = timedelta(hours=int(date_match[8] or 0), minutes=int(date_match[9] or 0))
    zone = timezone(-offset if date_match[7] == "-" else offset)
    year += _YEAR_19100 if match_19100 else 0
    return datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=zone)


def _parse_iso_date(text: str) -> datetime | None:
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _format_iso(moment: datetime) -> str:
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='seconds')}Z"
