"""Where a redirect leads.

Source: RFC 9110, sections 10.2.2 and 15.4; RFC 3986, section 5.
"""

from __future__ import annotations

from urllib.parse import urljoin

from fonds.crawl.request_url import RequestUrl, request_url
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError

STATUSES = frozenset({301, 302, 303, 307, 308})


def redirect_target(url: RequestUrl, status: int, location: str | None) -> RequestUrl | None:
    """The next address; None for an answer that is no redirect, and for one that names none.

    `location` is as the header has it, one character a byte. Raises PermanentError (BAD_REDIRECT) for what
    cannot be fetched.
    """
    if status not in STATUSES or not location:
        return None
    try:
        return request_url(urljoin(url.url, _text(location).strip()))
    except (PermanentError, ValueError) as error:
        told = f"{url.url} redirects to no address that can be fetched: {location[:200]!r}"
        raise PermanentError(Reason.BAD_REDIRECT, told) from error


def _text(location: str) -> str:
    """What servers mean by bytes beyond ASCII: UTF-8 where it is that."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
