"""Hide, remove and check keys, users and passwords in URLs and other texts.

Source: RFC 3986, section 3.2.1 (userinfo), section 2.1 (percent-encoding).
"""

from __future__ import annotations

import re

HIDDEN = "***"

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_URL_START = re.compile(rf"\s*{_SCHEME}")
_PARAMETER_WORDS = (
    r"passw(?:or)?d|passphrase|(?<![A-Za-z])pass|pwd|secret|token|credential|signature"
    r"|(?:api|access|private)[_-]?key"
)
_PARAMETER_IN_TEXT = re.compile(rf"((?:{_PARAMETER_WORDS})[\w.\[\]-]*=)[^&\s\"'<>]+", re.IGNORECASE)
_PARAMETER_IN_URL = re.compile(rf"((?:{_PARAMETER_WORDS})[\w.\[\]-]*=)[^&]+", re.IGNORECASE)
_LINE_BREAK = re.compile(r"[\r\n]")
_USERINFO_START = re.compile(r"^[^/?#@\s]+@")
_USERINFO_IN_URL = re.compile(r"(?<=://)[^/?#@\s]+@")
_AUTHORIZATION = re.compile(r"\b(Basic|Bearer)(\s+)[A-Za-z0-9+/=._~-]{6,}")
_FONDS_SECRET = re.compile(r"\b((?:fonds|session)_[a-z2-7]{8,16}_)[A-Za-z0-9_-]{20,}")
_UNSAFE_CHAR = re.compile(r"[\s/?#\[\]@\\\x00-\x1f\x7f]")
_CONTROL_CHAR = re.compile(r"[\x00-\x1f\x7f]")


def redact_secrets(text: str) -> str:
    """Return a text with the users, passwords and keys of all URLs hidden, for display and logs.

    A text that begins with a URL counts as one URL to its end. Everything between `://` and the
    last `@` is hidden if it contains a colon; without a colon, only a user before the host is. The
    value of a parameter is hidden, up to the next `&`, if its name contains a word such as
    `password` or `token`. In other texts, URLs end with their line, and values also end with a
    space, a quote or an angle bracket. Everywhere, access keys and sessions of Fonds are hidden
    after their prefix, and so are the credentials of Authorization headers. If in doubt, the text
    is hidden.
    """
    is_single_url = _URL_START.match(text) is not None
    parameter = _PARAMETER_IN_URL if is_single_url else _PARAMETER_IN_TEXT
    text = _FONDS_SECRET.sub(rf"\1{HIDDEN}", text)
    text = _AUTHORIZATION.sub(rf"\1\2{HIDDEN}", parameter.sub(rf"\1{HIDDEN}", text))
    head, mark, tail = text.partition("://")
    pieces = [tail] if is_single_url else tail.split("://")
    return head + mark + "://".join(_redact_password(piece, is_single_url) for piece in pieces)


def _redact_password(piece: str, is_single_url: bool) -> str:
    """Hide the user and password at the start of a text that follows a `://`.

    If the text before its last `@` contains a colon, all of that text may be a password and is
    hidden. The last `@` is searched in all of `piece` if `is_single_url`, else in its first line.
    """
    line_break = None if is_single_url else _LINE_BREAK.search(piece)
    end = len(piece) if line_break is None else line_break.start()
    line, later_lines = piece[:end], piece[end:]
    userinfo, at_sign, host_and_path = line.rpartition("@")
    if at_sign and ":" in userinfo:
        return f"{HIDDEN}@{host_and_path}{later_lines}"
    return _USERINFO_START.sub(f"{HIDDEN}@", line) + later_lines


def check_secrets(url: str) -> None:
    """Raise ValueError if a URL contains a control character anywhere, or a user or password that
    is not percent-encoded.

    Without encoding, the end of the password is ambiguous. The message does not quote the URL.
    Texts that do not begin with a scheme and `://` are accepted.
    """
    _, mark, authority_and_path = url.partition("://")
    if not mark or not _URL_START.match(url):
        return
    if _CONTROL_CHAR.search(url):
        raise ValueError("a URL cannot contain line breaks or control characters")
    userinfo, at_sign, _ = authority_and_path.rpartition("@")
    has_credentials = (
        ":" in userinfo or "@" in re.split(r"[/?#]", authority_and_path, maxsplit=1)[0]
    )
    if at_sign and has_credentials and _UNSAFE_CHAR.search(userinfo):
        raise ValueError(
            "invalid user and password before the last @. Percent-encode special "
            "characters in them: / as %2F, @ as %40, : as %3A, ? as %3F, # as %23, [ as "
            "%5B, ] as %5D, space as %20. After the host, write @ as %40"
        )


def has_secret(url: str) -> bool:
    """Return whether `redact_secrets` would hide anything in a URL."""
    return redact_secrets(url) != url


def strip_credentials(url: str) -> str:
    """Return a URL without its user and password, so that it can be stored.

    URLs inside the URL lose theirs too. Parameters are kept.
    """
    return _USERINFO_IN_URL.sub("", url)
