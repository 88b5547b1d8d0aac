"""Keys, users and passwords in URLs: hidden wherever a text is shown, and taken out of what is kept.

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
_ALONE = re.compile(rf"\s*{_SCHEME}")
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
    """The text with users, passwords and keys hidden in every URL of it: what may be shown or logged.

    A text that begins as a URL is taken for one, to its end: all before its last `@` is hidden if a
    colon is in it, and every parameter that sounds like a secret to the next `&`. In other texts URLs end
    with their line, and parameters with a blank or a quote. Keys and sessions of our own are hidden
    behind their prefix wherever they stand. Rather too much is hidden than too little.
    """
    is_alone = _ALONE.match(text) is not None
    parameter = _PARAMETER_ALONE if is_alone else _PARAMETER
    text = _FONDS_SECRET.sub(rf"\1{HIDDEN}", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", parameter.sub(rf"\1{HIDDEN}", text))
    before, mark, rest = text.partition("://")
    pieces = [rest] if is_alone else rest.split("://")
    return before + mark + "://".join(_redact_password(one, is_alone) for one in pieces)


def _redact_password(piece: str, is_alone: bool) -> str:
    """What stands behind `://` up to the next. With a colon before the last `@` (of its line, unless it is
    alone) all between may be a password, whatever it is.
    """
    end = None if is_alone else _LINE.search(piece)
    line, rest = (piece, "") if end is None else (piece[: end.start()], piece[end.start() :])
    before, at, after = line.rpartition("@")
    if at and ":" in before:
        return f"{HIDDEN}@{after}{rest}"
    return _USER.sub(f"{HIDDEN}@", line) + rest


def check_secrets(url: str) -> None:
    """Raises ValueError, with a sentence that holds nothing of it, for a URL whose user or password is not
    percent-encoded: nobody could say where it ends.
    """
    _, mark, rest = url.partition("://")
    if not mark or not _ALONE.match(url):
        return
    if _CONTROLS.search(url):
        raise ValueError("a URL holds no line breaks and no control characters")
    before, at, _ = rest.rpartition("@")
    is_password = ":" in before or "@" in re.split(r"[/?#]", rest, maxsplit=1)[0]
    if at and is_password and _UNSAFE_CHARS.search(before):
        raise ValueError(
            "what stands before the last @ is no user and password: there a / is written %2F, @ %40,"
            " : %3A, ? %3F, # %23, [ %5B, ] %5D and a blank %20; behind the host an @ is written %40"
        )


def has_secret(url: str) -> bool:
    """Whether anything of it would be hidden."""
    return redact_secrets(url) != url


def strip_credentials(url: str) -> str:
    """The URL as it may be kept: without its user and password."""
    return _USER_IN_URL.sub("", url)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Users and passwords of settings by the origins they are for, kept apart from the URLs that are kept."""

    by_origin: dict[tuple[str, str, int], str] = field(default_factory=dict, repr=False)

    def build_authorization(self, scheme: str, host: str, port: int) -> str | None:
        """The value of the header Authorization for requests to this origin; None for none."""
        return self.by_origin.get((scheme, host, port))


_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(
    r"(https?)://([^/?#@\s]+)@(\[[^\]]*\]|[^/?#:]*)(?::([0-9]{1,5}))?", re.IGNORECASE
)


def collect_credentials(urls: Iterable[str]) -> Credentials:
    """Those of http(s) URLs, as Basic authentication sends them (RFC 7617)."""
    found = {}
    for url in urls:
        match = _ORIGIN.match(url)
        if match is None:
            continue
        scheme, user, host, port = match.groups()
        name, _, password = user.partition(":")
        pair = unquote_to_bytes(name) + b":" + unquote_to_bytes(password)
        origin = scheme.lower(), host.strip("[]").lower(), int(port or _PORTS[scheme.lower()])
        found[origin] = f"Basic {b64encode(pair).decode('ascii')}"
    return Credentials(found)
