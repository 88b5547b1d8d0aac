"""What an answer, or none, means for a link: kept, dropped at once with its reason, or tried again later.

Source: RFC 9110, section 15; RFC 6585, section 4; RFC 9110, section 10.2.3 (Retry-After).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha1
from urllib.parse import urljoin

from fonds.model.disposition import DONE, Disposition, Reason, drop, retry
from fonds.model.errors import PermanentError
from fonds.urls.request_url import RequestUrl, parse_request_url

REFUSALS = frozenset({429, 503})
"""Not now, says the server: the pace of its host is told as well."""
PASSING = frozenset({408, 425, 500, 502, 504, 507, 508, *range(520, 531), 598, 599}) | REFUSALS
ACCEPTED_STATUSES = frozenset({200, 203})
NOT_MODIFIED = 304

RETRY_S = 1800.0
RETRY_AFTER_MAX_S = 24 * 3600.0
_SECONDS = re.compile(r"[0-9]{1,9}")


def classify_status(
    link_id: str, status: int, attempt_after_s: float = 0.0, retry_s: float = RETRY_S
) -> Disposition:
    """How a link ends with the last answer of its chain; `attempt_after_s` is what Retry-After asked for,
    `retry_s` about how long a passing fault is given."""
    if status in ACCEPTED_STATUSES:
        return DONE
    told = f"status {status}"
    if status == NOT_MODIFIED:
        return drop(Reason.NOT_MODIFIED, "the page had not changed since it was fetched last")
    if status in PASSING:
        reason = Reason.THROTTLED if status in REFUSALS else Reason.HTTP_STATUS
        return retry(reason, told, max(attempt_after_s, compute_retry_delay(link_id, retry_s)))
    return drop(Reason.HTTP_STATUS, told)


def compute_retry_delay(link_id: str, about_s: float = RETRY_S) -> float:
    """Seconds until a link is tried again: three quarters of `about_s` to one and a quarter, by its id, so
    that those that failed together do not come back together."""
    digest = sha1(link_id.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return about_s * (0.75 + 0.5 * int.from_bytes(digest[:4], "big") / 2**32)


def retry_after_s(value: str | None, now: datetime) -> float:
    """Seconds a Retry-After asks for, a day at most; 0.0 without one, and for what is none."""
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(RETRY_AFTER_MAX_S, float(text))
    try:
        moment = parsedate_to_datetime(text)
        # A date without a zone is meant in UTC, as all of HTTP's are.
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(RETRY_AFTER_MAX_S, max(0.0, (moment - now).total_seconds()))
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


# Where a redirect leads.
#
# Source: RFC 9110, sections 10.2.2 and 15.4; RFC 3986, section 5.


STATUSES = frozenset({301, 302, 303, 307, 308})


def resolve_redirect(url: RequestUrl, status: int, location: str | None) -> RequestUrl | None:
    """The next address; None for an answer that is no redirect, and for one that names none.

    `location` is as the header has it, one character a byte. Raises PermanentError (BAD_REDIRECT) for what
    cannot be fetched.
    """
    if status not in STATUSES or not location:
        return None
    try:
        return parse_request_url(urljoin(url.url, _decode_location(location).strip()))
    except (PermanentError, ValueError) as error:
        told = f"{url.url} redirects to no address that can be fetched: {location[:200]!r}"
        raise PermanentError(Reason.BAD_REDIRECT, told) from error


def _decode_location(location: str) -> str:
    """What servers mean by bytes beyond ASCII: UTF-8 where it is that."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
