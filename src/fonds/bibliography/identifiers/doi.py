"""What a DOI is, and how one is found: in running text, said to be one, in a link, in a path, and alone.

Source: DOI Handbook, 2.2 (prefix `10.` and a registrant, suffix of any printing characters, no case);
Crossref, "DOIs and matching regular expressions" (registrants of four to nine digits); ANSI/NISO Z39.56,
SICI, whose angle brackets stand in DOIs of the 1990s.
Bound: a DOI has 300 characters; one that is longer is cut in a text, and none where it stands alone.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

DOI_PREFIX = r"10\.[0-9]{4,9}/"
"""With its slash; for patterns of which a DOI is a part."""

_MAX_CHARS = 300
_SICI = r"<[^\s\"<>]{1,60}>(?=[0-9]\.[0-9A-Z]\.[A-Z]{2};[0-9A-Z])"
_IN_TEXT = DOI_PREFIX + r"(?:[^\s\"<>]|" + _SICI + r"){1,300}"
_RESOLVER = r"(?:https?://)?(?:dx\.|www\.)?doi\.org/"
_TEXT = re.compile(_IN_TEXT, re.IGNORECASE)
_ALONE = re.compile(DOI_PREFIX + r"\S{1,300}")
_BEFORE = re.compile(_RESOLVER + r"|doi:\s{0,3}", re.IGNORECASE)
_SAID = re.compile(r"(?:\bdoi\b[:.]?\s{0,3}|doi\.org/)\s{0,3}(" + _IN_TEXT + r")", re.IGNORECASE)
_SPAN = re.compile(
    r"(?:\b(?:https?://)?(?:dx\.)?doi(?:\.org/|\s?[:=]?\s?(?:"
    + _RESOLVER
    + r")?))\s?"
    + _IN_TEXT
    + r"|\b"
    + _IN_TEXT,
    re.IGNORECASE,
)
_PATH_PART = re.compile(r"/10\.[0-9]{3,5}/")


def doi_in(text: str) -> str | None:
    """The first DOI in running text, in lower case, without a full stop behind it; None when there is none.

    A blank, a quote or an angle bracket ends it there, but for the brackets of a SICI.
    """
    found = _TEXT.search(text)
    return _without_punctuation(found[0]) if found else None


def doi_alone(text: str) -> str | None:
    """The DOI a text is, in lower case, with or without a resolver or `doi:` before it; None where it is
    none, or more than one. What stands in it belongs to it, punctuation at its end as well."""
    bare = without_resolver(text.strip())
    return bare.lower() if len(bare) <= _MAX_CHARS and _ALONE.fullmatch(bare) else None


def doi_in_link(url: str) -> str | None:
    """The DOI a link to a resolver leads to, its escapes undone; None for other links."""
    return doi_in(unquote(url)) if "doi.org/10." in url.lower() else None


def doi_said(text: str) -> tuple[str, int] | None:
    """The first DOI a text calls one, and where this begins: a page names others' without a word, too."""
    found = _SAID.search(text) if "10." in text else None
    doi = _without_punctuation(found[1]) if found else None
    return (doi, found.start()) if found and doi else None


def doi_span(text: str) -> re.Match[str] | None:
    """The first DOI with the words and the resolver that introduce it, for taking it out of a text."""
    return _SPAN.search(text) if "10." in text else None


def without_resolver(text: str) -> str:
    """A text without the address of a resolver or `doi:` at its beginning."""
    found = _BEFORE.match(text)
    return text[found.end() :] if found else text


def names_prefix(path: str) -> bool:
    """Whether a part of a path looks like the prefix of a DOI. Three to five digits: the rule by which papers
    have been cut out of crawls, which is kept as it is so that the same captures are found."""
    return _PATH_PART.search(path) is not None


def _without_punctuation(text: str) -> str | None:
    """A closing bracket belongs to it where one was opened in it, as in the DOIs of 1990."""
    cut = _TEXT.match(text[:_MAX_CHARS])
    doi = cut[0] if cut else ""
    while doi and (doi[-1] in ".,;'\u2019\u201d" or _is_unopened(doi)):
        doi = doi[:-1]
    return doi.lower() if "/" in doi and not doi.endswith("/") else None


def _is_unopened(doi: str) -> bool:
    pair = {")": "(", "]": "[", "}": "{"}.get(doi[-1])
    return pair is not None and doi.count(doi[-1]) > doi.count(pair)
