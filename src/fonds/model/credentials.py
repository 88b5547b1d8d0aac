"""Credentials that requests send to servers: Basic authentication (RFC 7617)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

_DEFAULT_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(
    r"(https?)://([^/?#@\s]+)@(\[[^\]]*\]|[^/?#:]*)(?::([0-9]{1,5}))?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Users and passwords of servers, from the URLs in the settings. Stored URLs contain none.

    `by_origin`: value of the Authorization header by scheme, host and port. Schemes and hosts are
        in lower case.
    """

    by_origin: dict[tuple[str, str, int], str] = field(default_factory=dict, repr=False)

    def get_authorization(self, scheme: str, host: str, port: int) -> str | None:
        """Return the value of the Authorization header for requests to an origin; None without
        credentials for this origin.
        """
        return self.by_origin.get((scheme, host, port))


def collect_credentials(urls: Iterable[str]) -> Credentials:
    """Collect the users and passwords in http(s) URLs, encoded for Basic authentication.

    Other URLs, paths, and URLs without a user are ignored. Of two URLs with the same origin, the
    last one counts.
    """
    by_origin: dict[tuple[str, str, int], str] = {}
    for url in urls:
        match = _ORIGIN.match(url)
        if match is None:
            continue
        scheme, userinfo, host, port = match.groups()
        user, _, password = userinfo.partition(":")
        pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
        origin = (
            scheme.lower(),
            host.strip("[]").lower(),
            int(port or _DEFAULT_PORTS[scheme.lower()]),
        )
        by_origin[origin] = f"Basic {b64encode(pair).decode('ascii')}"
    return Credentials(by_origin)
