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
    """The five parts of a URL, unchanged except that `scheme` is in lower case.

    `scheme`: text before the first colon; "" if missing.
    `authority`: user, host and port after `//`; None without `//`.
    `path`: text up to `?` or `#`; may be "".
    `query`: text after `?`; None without `?`.
    `fragment`: text after `#`; None without `#`.
    """

    scheme: str
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    @property
    def host(self) -> str:
        """Host of the URL, unchanged, an IPv6 address in brackets; "" if the URL has no host."""
        return split_authority(self.authority or "")[0]

    @property
    def port(self) -> str:
        """Port of the URL as digits; "" if the URL states no port."""
        return split_authority(self.authority or "")[1]


def split_address(url: str) -> UrlParts:
    """Split any text into the five parts of a URL; return the parts. Never raises."""
    match = _ADDRESS.fullmatch(url)
    if match is None:
        return UrlParts("", None, url, None, None)
    scheme, authority, path, query, fragment = match.groups()
    return UrlParts((scheme or "").lower(), authority, path, query, fragment)


def split_authority(authority: str) -> tuple[str, str]:
    """Split the authority of a URL into host (IPv6 in brackets) and port ("" if missing). The user
    name is dropped.
    """
    host_and_port = authority.rpartition("@")[2]
    if host_and_port.startswith("["):
        host, bracket, port_part = host_and_port.partition("]")
        return host + bracket, port_part.removeprefix(":")
    host, colon, port = host_and_port.rpartition(":")
    is_port = bool(colon) and (not port or (port.isascii() and port.isdigit()))
    return (host, port) if is_port else (host_and_port, "")


def member_url(container_url: str, name: str) -> str:
    """Return a URL for a member of a container file, such as a ZIP: the URL of the container with
    the member name as fragment.

    On an http(s) URL the fragment begins with `/`, because other fragments select parts of one
    page.
    """
    if split_address(container_url).scheme in ("http", "https"):
        return f"{container_url.partition('#')[0]}#/{quote(name)}"
    return f"{container_url}#{quote(name)}"


def member_name(url: str) -> str | None:
    """Return the name of the container member in a URL that `member_url` built; None for other
    URLs.

    A container is a file with members, such as a ZIP.
    """
    address = split_address(url)
    if not address.fragment:
        return None
    if address.scheme not in ("http", "https"):
        return unquote(address.fragment)
    return unquote(address.fragment[1:]) if address.fragment.startswith("/") else None


def file_name(url: str) -> str:
    """Return the file name in a URL: the last part of its path, or of the name of a container
    member (such as a file in a ZIP) if the URL has one.

    Return "" if there is no file name. A fragment that is only the offset of a WARC record is
    ignored, so the result is the name of the WARC file.
    """
    member = member_name(url)
    path = (
        unquote(split_address(url).path) if member is None or _OFFSET.fullmatch(member) else member
    )
    return path.rstrip("/").rpartition("/")[2]
