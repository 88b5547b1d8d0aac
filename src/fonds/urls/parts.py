"""Split URLs into parts. All URL code in Fonds uses this module.

Source: RFC 3986, appendix B and section 3.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_ADDRESS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)

_OFFSET = re.compile(r"[0-9]+(?:#[0-9]+)?")


@dataclass(frozen=True, slots=True)
class UrlParts:
    """Five parts of a URL as written, except that `scheme` is in lower case; "" without one.

    `authority`, `query` and `fragment` are None if their delimiter (`//`, `?`, `#`) is missing.
    """

    scheme: str
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    @property
    def host(self) -> str:
        """Host as written, IPv6 in brackets; "" for none."""
        return split_authority(self.authority or "")[0]

    @property
    def port(self) -> str:
        """Digits after the host's colon; "" for none."""
        return split_authority(self.authority or "")[1]


def split_address(url: str) -> UrlParts:
    """Split any text into URL parts. Never raises."""
    match = _ADDRESS.fullmatch(url)
    if match is None:
        return UrlParts("", None, url, None, None)
    scheme, authority, path, query, fragment = match.groups()
    return UrlParts((scheme or "").lower(), authority, path, query, fragment)


def split_authority(authority: str) -> tuple[str, str]:
    """Return host (IPv6 with brackets) and port ("" for none), without the user name."""
    host_and_port = authority.rpartition("@")[2]
    if host_and_port.startswith("["):
        host, bracket, rest = host_and_port.partition("]")
        return host + bracket, rest.removeprefix(":")
    host, colon, port = host_and_port.rpartition(":")
    is_port = bool(colon) and (not port or (port.isascii() and port.isdigit()))
    return (host, port) if is_port else (host_and_port, "")


def member_url(container_url: str, name: str) -> str:
    """Return the URL of a member of a container such as a ZIP: the container's, with the name as
    fragment.

    On a web URL the fragment begins with `/`. Other fragments are parts of one page
    (`urls/normalization.py`), and members are not.
    """
    if split_address(container_url).scheme in ("http", "https"):
        return f"{container_url.partition('#')[0]}#/{quote(name)}"
    return f"{container_url}#{quote(name)}"


def member_name(url: str) -> str | None:
    """Return the member name in a URL made by `member_url`; None for any other URL."""
    address = split_address(url)
    if not address.fragment:
        return None
    if address.scheme not in ("http", "https"):
        return unquote(address.fragment)
    return unquote(address.fragment[1:]) if address.fragment.startswith("/") else None


def file_name(url: str) -> str:
    """Return the file name in a URL: the last part of the member's name, else of the path.

    Returns "" if the path has none. A WARC record identified by its offset alone has the name of
    the WARC.
    """
    member = member_name(url)
    path = (
        unquote(split_address(url).path) if member is None or _OFFSET.fullmatch(member) else member
    )
    return path.rstrip("/").rpartition("/")[2]
