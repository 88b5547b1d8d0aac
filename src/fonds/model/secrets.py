"""Hide or remove keys, users and passwords in URLs and other texts.

Source: RFC 3986, section 3.2.1 (userinfo), section 2.1 (percent-encoding).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

HIDDEN = "***"

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_URL_START = re.compile(rf"\s*{_SCHEME}")
_NAMES = (
    r"passw(?:or)?d|passphrase|(?<![A-Za-z])pass|pwd|secret|token|credential|signature"
    r"|(?:api|access|private)[_-]?key"
)
_PARAMETER = re.compile(rf"((?:{_NAMES})[\w.\[\]-]*=)[^&\s\"'<>]+", re.IGNORECASE)
_PARAMETER_ALONE = re.compile(rf"((?:{_NAMES})[\w.\[\]-]*=)[^&]+", re.IGNORECASE)
_LINE = re.compile(r"[\r\n]")
_USER = re.compile(r"^[^/?#@\s]+@")
_USER_IN_URL = re.compile(r"(?<=://)[^/?#@\s]+@")
_HEADER = re.compile(r"\b(Basic|Bearer)(\s+)[A-Za-z0-9+/=._~-]{6,}")
_FONDS_SECRET = re.compile(r"\b((?:fonds|session)_[a-z2-7]{8,16}_)[A-Za-z0-9_-]{20,}")
_UNSAFE_CHARS = re.compile(r"[\s/?#\[\]@\\\x00-\x1f\x7f]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def redact_secrets(text: str) -> str:
    """Return a text with the users, passwords and keys of all URLs hidden, for display and logs.

    A text that begins with a URL counts as one URL to its end. Then everything before its last `@`
    is hidden if it contains a colon, and so is the value of every parameter whose name sounds like
    a secret, up to the next `&`. In other texts, URLs end with their line, and parameters end with
    a space or a quote. Access keys and sessions of Fonds are hidden after their prefix everywhere,
    and so are the credentials of Authorization headers. If in doubt, the text is hidden.
    """
    is_alone = _URL_START.match(text) is not None
    parameter = _PARAMETER_ALONE if is_alone else _PARAMETER
    text = _FONDS_SECRET.sub(rf"\1{HIDDEN}", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", parameter.sub(rf"\1{HIDDEN}", text))
    head, mark, tail = text.partition("://")
    pieces = [tail] if is_alone else tail.split("://")
    return head + mark + "://".join(_redact_password(piece, is_alone) for piece in pieces)


def _redact_password(piece: str, is_alone: bool) -> str:
    """Hide the user and password in the part of a text between one `://` and the next.

    `piece` begins after the `://`. If the text before its last `@` contains a colon, all of that
    text may be a password and is hidden. The last `@` is searched in all of `piece` if `is_alone`,
    else in its first line.
    """
    end = None if is_alone else _LINE.search(piece)
    line, later_lines = (piece, "") if end is None else (piece[: end.start()], piece[end.start() :])
    userinfo, at_sign, host_and_path = line.rpartition("@")
    if at_sign and ":" in userinfo:
        return f"{HIDDEN}@{host_and_path}{later_lines}"
    return _USER.sub(f"{HIDDEN}@", line) + later_lines


def check_secrets(url: str) -> None:
    """Raise ValueError if the user or password in a URL is not percent-encoded. The message does
    not quote the URL.

    Without encoding, the end of the password is ambiguous.
    """
    _, mark, authority_and_path = url.partition("://")
    if not mark or not _URL_START.match(url):
        return
    if _CONTROLS.search(url):
        raise ValueError("a URL cannot contain line breaks or control characters")
    userinfo, at_sign, _ = authority_and_path.rpartition("@")
    is_password = ":" in userinfo or "@" in re.split(r"[/?#]", authority_and_path, maxsplit=1)[0]
    if at_sign and is_password and _UNSAFE_CHARS.search(userinfo):
        raise ValueError(
            "invalid user and password before the last @. Percent-encode special "
            "characters in them: / as %2F, @ as %40, : as %3A, ? as %3F, # as %23, [ as "
            "%5B, ] as %5D, space as %20. After the host, write @ as %40"
        )


def has_secret(url: str) -> bool:
    """Return whether `redact_secrets` would hide anything in a URL."""
    return redact_secrets(url) != url


def strip_credentials(url: str) -> str:
    """Return a URL without its user and password, so that it can be stored."""
    return _USER_IN_URL.sub("", url)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Users and passwords of servers, taken from the URLs in the settings and kept apart from the
    stored URLs.

    `by_origin`: value of the Authorization header by scheme, host and port.
    """

    by_origin: dict[tuple[str, str, int], str] = field(default_factory=dict, repr=False)

    def build_authorization(self, scheme: str, host: str, port: int) -> str | None:
        """Return the value of the Authorization header for requests to an origin; None without
        credentials for this origin.
        """
        return self.by_origin.get((scheme, host, port))


_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(
    r"(https?)://([^/?#@\s]+)@(\[[^\]]*\]|[^/?#:]*)(?::([0-9]{1,5}))?", re.IGNORECASE
)


def collect_credentials(urls: Iterable[str]) -> Credentials:
    """Collect the users and passwords in http(s) URLs, encoded for Basic authentication (RFC 7617).

    URLs without a user are ignored.
    """
    by_origin = {}
    for url in urls:
        match = _ORIGIN.match(url)
        if match is None:
            continue
        scheme, user, host, port = match.groups()
        name, _, password = user.partition(":")
        pair = unquote_to_bytes(name) + b":" + unquote_to_bytes(password)
        origin = scheme.lower(), host.strip("[]").lower(), int(port or _PORTS[scheme.lower()])
        by_origin[origin] = f"Basic {b64encode(pair).decode('ascii')}"
    return Credentials(by_origin)
