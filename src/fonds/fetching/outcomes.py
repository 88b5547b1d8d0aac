"""Decide what happens to a link after its response or failure: keep it, drop it with a reason, or
retry it.

The module also resolves redirects. Source: RFC 9110, sections 10.2.2, 10.2.3 (Retry-After) and 15;
RFC 6585, section 4; RFC 3986, section 5.
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
"""HTTP statuses that refuse a request for now. They also slow down the requests to the host."""
PASSING = frozenset({408, 425, 500, 502, 504, 507, 508, *range(520, 531), 598, 599}) | REFUSALS
ACCEPTED_STATUSES = frozenset({200, 203})
NOT_MODIFIED = 304

RETRY_S = 1800.0
RETRY_AFTER_MAX_S = 24 * 3600.0
_SECONDS = re.compile(r"[0-9]{1,9}")


def classify_status(
    link_id: str, status: int, attempt_after_s: float = 0.0, retry_s: float = RETRY_S
) -> Disposition:
    """Return what happens to a link (done, dropped or retried) after the response to the last URL
    of its redirects.

    - `status`: HTTP status of that response.
    - `attempt_after_s`: seconds that the server asks to wait (Retry-After).
    - `retry_s`: approximate seconds until a retry after a temporary failure.
    """
    if status in ACCEPTED_STATUSES:
        return DONE
    detail = f"status {status}"
    if status == NOT_MODIFIED:
        return drop(Reason.NOT_MODIFIED, "the page has not changed since the last fetch")
    if status in PASSING:
        reason = Reason.THROTTLED if status in REFUSALS else Reason.HTTP_STATUS
        return retry(reason, detail, max(attempt_after_s, compute_retry_delay(link_id, retry_s)))
    return drop(Reason.HTTP_STATUS, detail)


def compute_retry_delay(link_id: str, about_s: float = RETRY_S) -> float:
    """Return the seconds until a link is retried, from 0.75 to 1.25 times `about_s`.

    The value depends on the id of the link, so that links that failed together are not retried
    together.
    """
    digest = sha1(link_id.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return about_s * (0.75 + 0.5 * int.from_bytes(digest[:4], "big") / 2**32)


def retry_after_s(value: str | None, now: datetime) -> float:
    """Return the seconds that a Retry-After header (`value`) asks to wait, at most a day; 0.0 if it
    is missing or invalid.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(RETRY_AFTER_MAX_S, float(text))
    try:
        moment = parsedate_to_datetime(text)
        # HTTP dates without a zone are in UTC.
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(RETRY_AFTER_MAX_S, max(0.0, (moment - now).total_seconds()))
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


STATUSES = frozenset({301, 302, 303, 307, 308})


def resolve_redirect(url: RequestUrl, status: int, location: str | None) -> RequestUrl | None:
    """Return the target of a redirect from `url`; None if the response is not a redirect with a
    target.

    `location` is the value of the Location header, with one character per byte. Raises
    PermanentError (BAD_REDIRECT) if the target is not a valid URL.
    """
    if status not in STATUSES or not location:
        return None
    try:
        return parse_request_url(urljoin(url.url, _decode_location(location).strip()))
    except (PermanentError, ValueError) as error:
        message = f"{url.url} redirects to a URL that cannot be fetched: {location[:200]!r}"
        raise PermanentError(Reason.BAD_REDIRECT, message) from error


def _decode_location(location: str) -> str:
    """Decode the non-ASCII bytes of a Location header as UTF-8, if they are valid UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
