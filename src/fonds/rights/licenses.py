"""Normalize licences and rights holders that websites and files state.

Source: SPDX License List 3.26; Creative Commons licence URLs
(https://creativecommons.org/licenses/BY/VERSION/PORT/), RFC 3986. Limits: linear in the text; at
most 2,000 characters are read.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urljoin, urlsplit

from fonds.model.rights import RAW_MAX_CHARS, Statement, StatementSource, Subject

VALUE_MAX_CHARS = 300
"""Maximum number of characters of a normalized licence or rights holder. Longer values are cut."""

_CC_HOST = re.compile(r"(?:[a-z0-9-]{1,60}\.)?creativecommons\.org")
_CC_PATH = re.compile(
    r"/licenses/([a-z]+(?:[-+][a-z]+){0,3})(?:/(\d\.\d))?(?:/([a-z]{2,3}|scotland))?(?:[/.].*)?",
    re.IGNORECASE,
)
_PUBLIC_PATH = re.compile(r"/publicdomain/(zero|mark|certification)(?:/1\.0)?(?:[/.].*)?", re.I)
_PUBLIC = {"zero": "cc0-1.0", "mark": "cc-pdm-1.0", "certification": "cc-pddc"}
_PARTS = frozenset({"by", "nc", "nd", "sa"})
_CURRENT_WITHOUT_PORTS = "4.0"

_URL = re.compile(r"https?://[^\s<>\"'()\[\]{}]{1,500}", re.IGNORECASE)
_CC_NAME = re.compile(
    r"\b(?:cc|creative\s{1,4}commons)\b[\s:(-]{0,4}"
    r"((?:(?:by|nc|nd|sa|attribution|non\W?commercial|no\W?deriv(?:ative|ative\s{1,4}work)?s?"
    r"|share\W?alike)\b[\s()/,-]{0,4}){1,8})"
    r"(?:(?:works|licen[cs]e|version|v\.?|unported|international|generic)[\s,]{1,4}){0,3}(\d\.\d)?",
    re.IGNORECASE,
)
_CC_ZERO = re.compile(r"\bcc[\s-]?0\b|\bcc[\s-]zero\b|\bcreative\s{1,4}commons\s{1,4}zero\b", re.I)
_CC_WORDS = (
    ("by", re.compile(r"\b(?:by|attribution)\b", re.IGNORECASE)),
    ("nc", re.compile(r"\b(?:nc|non\W?commercial)\b", re.IGNORECASE)),
    ("nd", re.compile(r"\b(?:nd|no\W?deriv\w{0,8})\b", re.IGNORECASE)),
    ("sa", re.compile(r"\b(?:sa|share\W?alike)\b", re.IGNORECASE)),
)
_URLS = {
    "apache.org/licenses/license-2.0": "apache-2.0",
    "data.gov.uk/ogl": "ogl-uk-3.0",
    "gnu.org/copyleft/fdl": "gfdl-1.3-or-later",
    "gnu.org/licenses/agpl-3.0": "agpl-3.0-only",
    "gnu.org/licenses/fdl-1.2": "gfdl-1.2-only",
    "gnu.org/licenses/fdl-1.3": "gfdl-1.3-only",
    "gnu.org/licenses/gpl-2.0": "gpl-2.0-only",
    "gnu.org/licenses/gpl-3.0": "gpl-3.0-only",
    "gnu.org/licenses/lgpl-3.0": "lgpl-3.0-only",
    "govdata.de/dl-de/by-2-0": "dl-de-by-2.0",
    "govdata.de/dl-de/zero-2-0": "dl-de-zero-2.0",
    "mozilla.org/mpl/2.0": "mpl-2.0",
    "nationalarchives.gov.uk/doc/open-government-licence/version/1": "ogl-uk-1.0",
    "nationalarchives.gov.uk/doc/open-government-licence/version/2": "ogl-uk-2.0",
    "nationalarchives.gov.uk/doc/open-government-licence/version/3": "ogl-uk-3.0",
    "opendatacommons.org/licenses/by/1-0": "odc-by-1.0",
    "opendatacommons.org/licenses/odbl/1-0": "odbl-1.0",
    "opendatacommons.org/licenses/pddl/1-0": "pddl-1.0",
    "opensource.org/license/mit": "mit",
    "opensource.org/licenses/mit": "mit",
    "unlicense.org": "unlicense",
}
"""SPDX identifiers of licences that are not from Creative Commons, by URL without scheme and
`www.`.
"""
_NAMES = frozenset(_URLS.values()) | {
    "bsd-2-clause",
    "bsd-3-clause",
    "cc-pddc",
    "etalab-2.0",
    "gpl-2.0-or-later",
    "gpl-3.0-or-later",
    "isc",
    "wtfpl",
}
_HOLDER = re.compile(
    r"(?:©|\(c\)|&copy;|\bcopyright\b)[\s©:,]{0,4}(?:\(c\)\s{0,4})?(?:by\s{1,4})?"
    r"(?:(?:19|20)\d\d(?:\s{0,4}[-–—,/]\s{0,4}(?:(?:19|20)?\d\d|present))*[\s,.:]{0,4})?(?:by\s{1,4})?"
    r"(.{0,300})",
    re.IGNORECASE | re.DOTALL,
)
_HOLDER_END = re.compile(
    r"[.;,|]?\s{0,4}(?:\ball\s{1,4}rights\s{1,4}reserved\b|\blicen[cs]ed?\b|\bunder\s{1,4}(?:a|the)\b"
    r"|\bthis\s{1,4}(?:is|work|article|paper)\b|https?://|\n|\|)",
    re.IGNORECASE,
)
_TRAILING_YEARS = re.compile(r"[\s,(]{1,4}(?:19|20)\d\d(?:\s?[-–]\s?(?:20)?\d\d)?[).]{0,2}$")
_SENTENCE = re.compile(r"(?<=[\w)]{3})\.\s")


def normalize_license(stated_text: str, base: str = "") -> str:
    """Return the normalized form of a stated licence in lower case: its SPDX identifier, else its
    URL, else the text.

    `cc-by` is Creative Commons BY without a stated version. Return '' for a text without letters
    and digits. `base` is the URL to which a relative URL in the text refers; '' if there is none.
    """
    text = normalize_line(stated_text)
    url = _find_url(text, base)
    if url:
        return find_license_by_url(url) or _shorten(url)
    return find_license_by_name(text) or _shorten(text.lower())


def find_license_by_url(url: str) -> str | None:
    """Return the SPDX identifier (lower case) of the licence at a URL; None if no known licence has
    this URL.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = (parts.netloc.rpartition("@")[2].partition(":")[0]).lower().removeprefix("www.")
    if _CC_HOST.fullmatch(host):
        return _parse_creative_commons(parts.path)
    address = f"{host}{parts.path}".lower()
    for prefix, identifier in _URLS.items():
        ends = "/.-" if "/" in prefix else "/"
        if address == prefix or (address.startswith(prefix) and address[len(prefix)] in ends):
            return identifier
    return None


def find_license_by_name(text: str) -> str | None:
    """Return the SPDX identifier (lower case) of the licence that a text names; None if it names
    none.
    """
    text = text[:RAW_MAX_CHARS]
    if _CC_ZERO.search(text):
        return "cc0-1.0"
    name_match = _CC_NAME.search(text)
    if name_match is not None:
        parts = [part for part, word in _CC_WORDS if word.search(name_match[1])]
        return _build_identifier(
            parts, name_match[2] or _find_version_after(text, name_match.end()), ""
        )
    name = text.strip().lower().replace(" ", "-")
    return name if name in _NAMES else None


def is_creative_commons(url: str) -> bool:
    """Return whether a URL is that of a Creative Commons licence or public domain mark."""
    return "creativecommons.org/" in url.lower() and find_license_by_url(url) is not None


def build_license_statements(
    stated_text: str, source: StatementSource, name: str, base: str = ""
) -> list[Statement]:
    """Return a list with one statement, a licence; empty for a text without letters and digits.

    - `stated_text`: the text of the statement.
    - `source`, `name`: kind of source in which the licence was stated, and name of the header,
      element or property.
    - `base`: URL to which a relative URL in the text refers; '' if there is none.
    """
    value = normalize_license(stated_text, base)
    return (
        [Statement(Subject.LICENSE, value, clean_raw_text(stated_text), source, name)]
        if value
        else []
    )


def build_holder_statements(
    stated_text: str, source: StatementSource, name: str
) -> list[Statement]:
    """Return a list with one statement, a rights holder; empty for a text without a name.

    The name of the holder may follow `©` and a year.
    """
    notice = _HOLDER.search(stated_text[:RAW_MAX_CHARS])
    value = _find_holder(notice[1] if notice else stated_text)
    if not any(char.isalpha() for char in value):
        return []
    return [Statement(Subject.HOLDER, value, clean_raw_text(stated_text), source, name)]


def build_rights_statements(
    stated_text: str, source: StatementSource, name: str, base: str = ""
) -> list[Statement]:
    """Return the statements in a text about rights: a licence that the text names or links, a
    rights holder after `©`, or both.

    A text with neither is taken as the licence itself, in lower case: `all rights reserved`.
    """
    text = stated_text[:RAW_MAX_CHARS]
    url = _find_url(normalize_line(text), "")
    identifier = (find_license_by_url(url) if url else None) or find_license_by_name(text)
    statements = (
        [Statement(Subject.LICENSE, identifier, clean_raw_text(stated_text), source, name)]
        if identifier
        else []
    )
    if _HOLDER.search(text):
        return statements + build_holder_statements(text, source, name)
    return statements or build_license_statements(text, source, name, base)


def clean_raw_text(stated_text: str) -> str:
    """Return the text of a rights statement without control characters, cut to 2,000 characters."""
    return normalize_line(stated_text[: 2 * RAW_MAX_CHARS])[:RAW_MAX_CHARS]


def normalize_line(text: str) -> str:
    """Return a text as one line: in NFC, with single spaces, without control characters and lone
    surrogates.
    """
    clean = "".join(
        " " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char
        for char in text[: 2 * RAW_MAX_CHARS]
    )
    return " ".join(unicodedata.normalize("NFC", clean).split())


def _shorten(text: str) -> str:
    return text[:VALUE_MAX_CHARS].rstrip(" .;,") if any(map(str.isalnum, text)) else ""


def _find_url(text: str, base: str) -> str:
    """Return the first URL in a text; '' if there is none. With `base`, a text without spaces may
    be a relative URL.
    """
    url_match = _URL.search(text)
    if url_match is not None:
        return url_match[0].rstrip(".,;:!?")
    if text.startswith("//") and " " not in text:
        return f"https:{text}"
    is_path = text.startswith(("/", "./", "../", "#")) or text.endswith((".html", ".htm", ".txt"))
    if base and is_path and " " not in text:
        try:
            return urljoin(base, text)
        except ValueError:
            return ""
    return ""


def _parse_creative_commons(path: str) -> str | None:
    public = _PUBLIC_PATH.fullmatch(path)
    if public is not None:
        return _PUBLIC[public[1].lower()]
    licence_match = _CC_PATH.fullmatch(path)
    if licence_match is None:
        return None
    if licence_match[1].lower() == "publicdomain":
        return "cc-pddc"
    words = re.split("[-+]", licence_match[1].lower())
    if not set(words) <= _PARTS:
        return None
    return _build_identifier(words, licence_match[2] or "", (licence_match[3] or "").lower())


def _build_identifier(words: list[str], version: str, port: str) -> str | None:
    parts = [part for part, _ in _CC_WORDS if part in words]
    if not parts:
        return None
    # Deeds in other languages have a language code in the place of the port, and 4.0 has no ports.
    port = "" if version >= _CURRENT_WITHOUT_PORTS else port
    return "-".join(filter(None, ("cc", *parts, version, port if version else "")))


def _find_version_after(text: str, place: int) -> str:
    """Return the version of a licence, such as `4.0`, in the 60 characters after its name.

    `place` is the position where the name ends, as in `Attribution License (version 4.0)`. Returns
    '' if there is no version.
    """
    version_match = re.match(
        r"[^.\d]{0,40}?\b(?:v\.?\s{0,2})?([1-4]\.[05])\b", text[place : place + 60]
    )
    return version_match[1] if version_match else ""


def _find_holder(text: str) -> str:
    """Return the name of the rights holder in the text after `©` and the years; '' if there is
    none.
    """
    line = normalize_line(text)
    end = _HOLDER_END.search(line)
    line = line[: end.start()] if end else line
    sentence = _SENTENCE.search(line)
    line = line[: sentence.start()] if sentence else line
    line = _TRAILING_YEARS.sub("", line)
    return line.strip(" .,;:-–—|")[:VALUE_MAX_CHARS]
