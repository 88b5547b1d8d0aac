"""A URL taken apart, once for all who read URLs: what they make of the parts differs, not where they end.

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
    """The five parts of a URL as they were written; `scheme` in lower case, "" without one.

    `authority`, `query` and `fragment` are None where their mark (`//`, `?`, `#`) is missing.
    """

    scheme: str
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    @property
    def host(self) -> str:
        """The host as it was written, IPv6 in its brackets; "" for none."""
        return split_authority(self.authority or "")[0]

    @property
    def port(self) -> str:
        """The digits behind the host's colon; "" for none."""
        return split_authority(self.authority or "")[1]


def split_address(url: str) -> UrlParts:
    """The parts of any text as a URL has them. Never raises."""
    found = _ADDRESS.fullmatch(url)
    if found is None:
        return UrlParts("", None, url, None, None)
    scheme, authority, path, query, fragment = found.groups()
    return UrlParts((scheme or "").lower(), authority, path, query, fragment)


def split_authority(authority: str) -> tuple[str, str]:
    """Host, with the brackets of IPv6, and port ("" for none); the user's name is left out."""
    host_and_port = authority.rpartition("@")[2]
    if host_and_port.startswith("["):
        host, bracket, rest = host_and_port.partition("]")
        return host + bracket, rest.removeprefix(":")
    host, colon, port = host_and_port.rpartition(":")
    is_port = bool(colon) and (not port or (port.isascii() and port.isdigit()))
    return (host, port) if is_port else (host_and_port, "")


def member_url(container_url: str, name: str) -> str:
    """Return the URL of a member of a container such as a ZIP: the container's, with the name as fragment.

    Behind a web address the fragment begins with `/`. All others are parts of one page
    (`urls/normalization.py`), and members are not.
    """
    if split_address(container_url).scheme in ("http", "https"):
        return f"{container_url.partition('#')[0]}#/{quote(name)}"
    return f"{container_url}#{quote(name)}"


def member_name(url: str) -> str | None:
    """Return the name of the member that a URL of `member_url` names; None for any other URL."""
    address = split_address(url)
    if not address.fragment:
        return None
    if address.scheme not in ("http", "https"):
        return unquote(address.fragment)
    return unquote(address.fragment[1:]) if address.fragment.startswith("/") else None


def file_name(url: str) -> str:
    """Return the name a URL gives to its file: of a member the last part of its name, else of the path.

    Empty where the path has none. A record of a WARC that is named by its offset alone goes by the name of
    the WARC.
    """
    member = member_name(url)
    path = (
        unquote(split_address(url).path) if member is None or _OFFSET.fullmatch(member) else member
    )
    return path.rstrip("/").rpartition("/")[2]
