"""Parse dates and times in feeds and sitemaps, and format them as RFC 2822 for `pub_date`.

Source: RFC 2822, sections 3.3 and 4.3; RFC 3339; W3C "Date and Time Formats".

Limits: only the first 100 characters of a text are read, in linear time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_tz

MAX_CHARS = 100

_ISO = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d))?)?"
    r"(?:[T ]\s?(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?\s?(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?)?",
    re.IGNORECASE,
)
_FROM_GMT = re.compile(r"(?:GMT|UTC)([+-])(\d{1,2})(?::?(\d\d))?$", re.IGNORECASE)
_ZONED = re.compile(r"[+-]\d{4}\b|\b(?:Z|UT|UTC|GMT|[ECMP][SD]T)\s*$", re.IGNORECASE)


def format_rfc2822(text: str | None) -> str | None:
    """Convert a time to UTC in the format of RFC 2822; `-0000` marks a time without a zone.

    Returns None if the text is not a valid time.
    """
    moment, has_zone = read_moment(text)
    if moment is None:
        return None
    return format_datetime(moment if has_zone else moment.replace(tzinfo=None))


def read_moment(text: str | None) -> tuple[datetime | None, bool]:
    """Parse a date and time. Return it in UTC, and whether the text states a time zone.

    Without a zone, UTC is assumed. The time is None if the text is not a valid time.
    """
    stripped_text = (text or "").strip()[:MAX_CHARS]
    if not stripped_text or not stripped_text.isascii():
        return None, False
    try:
        match = _ISO.fullmatch(stripped_text)
        return _parse_iso(match) if match else _parse_mail_date(stripped_text)
    except (ValueError, OverflowError):
        return None, False


def _parse_iso(match: re.Match[str]) -> tuple[datetime | None, bool]:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    moment = datetime(
        int(year),
        int(month or 1),
        int(day or 1),
        int(hour or 0) % 24,
        int(minute or 0),
        min(int(second or 0), 59),
        int((fraction or "0")[:6].ljust(6, "0")),
        tzinfo=_parse_zone(zone),
    )
    late = timedelta(days=1) if hour == "24" else timedelta()
    return moment.astimezone(UTC) + late, zone is not None


def _parse_zone(text: str | None) -> timezone:
    if not text or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]))
    return timezone(-offset if text[0] == "-" else offset)


def _parse_mail_date(text: str) -> tuple[datetime | None, bool]:
    plain = _FROM_GMT.sub(lambda match: f"{match[1]}{int(match[2]):02d}{match[3] or '00'}", text)
    parts = parsedate_tz(plain)
    if parts is None:
        return None, False
    moment = datetime(*parts[:5], min(parts[5], 59), tzinfo=UTC)
    has_zone = _ZONED.search(plain) is not None
    return moment - timedelta(seconds=parts[9] or 0), has_zone
