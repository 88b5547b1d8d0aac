"""Identifiers of papers in text, links and paths: DOI, arXiv, PubMed, ISBN, ISSN and ORCID.

Each is found and normalised. Sources: DOI Handbook, 2.2 (prefix `10.` and a registrant, suffix of
any printing characters, case-insensitive); Crossref, "DOIs and matching regular expressions"
(registrants of four to nine digits); ANSI/NISO Z39.56, SICI, whose angle brackets occur in DOIs
of the 1990s; arXiv, "Understanding the arXiv identifier"; ISO 3297 and ISO 2108 (check digits);
ISO 7064, MOD 11-2 (ORCID).

Limits: a DOI has up to 300 characters. A longer one is cut in running text and rejected if it is
the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

DOI_PREFIX = r"10\.[0-9]{4,9}/"
"""Pattern for the prefix of a DOI with its slash, for use in other patterns."""

_MAX_CHARS = 300
_SICI = r"<[^\s\"<>]{1,60}>(?=[0-9]\.[0-9A-Z]\.[A-Z]{2};[0-9A-Z])"
_IN_TEXT = DOI_PREFIX + r"(?:[^\s\"<>]|" + _SICI + r"){1,300}"
_RESOLVER = r"(?:https?://)?(?:dx\.|www\.)?doi\.org/"
_TEXT = re.compile(_IN_TEXT, re.IGNORECASE)
_WHOLE_TEXT = re.compile(DOI_PREFIX + r"\S{1,300}")
_PREFIX = re.compile(_RESOLVER + r"|doi:\s{0,3}", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?:\bdoi\b[:.]?\s{0,3}|doi\.org/)\s{0,3}(" + _IN_TEXT + r")", re.IGNORECASE
)
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


def find_doi_in_text(text: str) -> str | None:
    """Return the first DOI in running text, in lower case and without punctuation at its end, or
    None.

    A blank, quote or angle bracket ends the DOI, except for the angle brackets of a SICI, which is
    a part of some DOIs.
    """
    match = _TEXT.search(text)
    return _strip_punctuation(match[0]) if match else None


def parse_doi(text: str) -> str | None:
    """Return the DOI that a text consists of, in lower case, without the address of a resolver or
    `doi:`.

    Punctuation at the end belongs to the DOI. Returns None if the text is not exactly one DOI.
    """
    bare = strip_resolver(text.strip())
    return bare.lower() if len(bare) <= _MAX_CHARS and _WHOLE_TEXT.fullmatch(bare) else None


def parse_doi_link(url: str) -> str | None:
    """Return the DOI of a link to the DOI resolver (`doi.org`), percent-decoded; None for other
    links.
    """
    return find_doi_in_text(unquote(url)) if "doi.org/10." in url.lower() else None


def find_labelled_doi(text: str) -> tuple[str, int] | None:
    """Return the first DOI with a label such as `doi:` or a resolver's address before it, and its
    position in the text.

    The label is required, because pages often mention DOIs of other works without one. Returns None
    if there is no such DOI.
    """
    match = _LABELLED.search(text) if "10." in text else None
    doi = _strip_punctuation(match[1]) if match else None
    return (doi, match.start()) if match and doi else None


def find_doi_span(text: str) -> re.Match[str] | None:
    """Return the match of the first DOI, including its label (`doi:`) or resolver address.

    The caller can thus cut both DOI and label out of the text. Returns None if the text has no DOI.
    """
    return _SPAN.search(text) if "10." in text else None


def strip_resolver(text: str) -> str:
    """Remove the address of a DOI resolver, such as `https://doi.org/`, or `doi:` from the
    beginning of a text.
    """
    match = _PREFIX.match(text)
    return text[match.end() :] if match else text


def is_doi_prefix(path: str) -> bool:
    """Return whether a part of a URL's path looks like the prefix of a DOI, such as `/10.1000/`.
    The prefix has three to five digits after `10.`.

    Crawls have been filtered by this rule, so it must keep selecting the same captures.
    """
    return _PATH_PART.search(path) is not None


def _strip_punctuation(text: str) -> str | None:
    """Remove punctuation from the end of a DOI, but keep a closing bracket that was opened in the
    DOI. Return the DOI in lower case; None if nothing of its suffix is left.
    """
    doi_match = _TEXT.match(text[:_MAX_CHARS])
    doi = doi_match[0] if doi_match else ""
    while doi and (doi[-1] in ".,;'\u2019\u201d" or _is_unopened(doi)):
        doi = doi[:-1]
    return doi.lower() if "/" in doi and not doi.endswith("/") else None


def _is_unopened(doi: str) -> bool:
    pair = {")": "(", "]": "[", "}": "{"}.get(doi[-1])
    return pair is not None and doi.count(doi[-1]) > doi.count(pair)


ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z][a-z-]{1,15}(?:\.[A-Z]{2})?/\d{7})(?:v\d{1,2})?"
_ARXIV = re.compile(r"(?:arxiv:\s{0,2}|arxiv\.org/(?:abs|pdf)/)" + ARXIV_ID, re.IGNORECASE)
_ARXIV_BARE = re.compile(r"(?:abs/|arxiv[:.]?\s{0,2}(?:abs/)?)?" + ARXIV_ID, re.IGNORECASE)
_PMID = re.compile(
    r"(?:\bPMID:?\s{0,2}|pubmed(?:\.ncbi\.nlm\.nih\.gov)?/)(\d{1,8})\b", re.IGNORECASE
)
_PMCID = re.compile(r"\b(?:PMCID:?\s{0,2})?(PMC\d{2,8})\b", re.IGNORECASE)
_ISSN = re.compile(r"(?<![\d-])(\d{4})[-\u2010-\u2013](\d{3}[\dXx])(?![\d-])")
_ISBN = re.compile(r"(?<![\d-])(97[89][- ]?(?:\d[- ]?){9}\d|(?:\d[- ]?){9}[\dXx])(?![\d-])")
_ORCID = re.compile(r"(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dXx])(?!\d)")


def find_arxiv_id(text: str) -> str | None:
    """Return the first arXiv id in a text or URL that marks it as one, such as `arXiv:1901.00596`.

    The id has no version. Returns None if there is none.
    """
    # The pattern would be tried at each character; "i" is left out because it also matches "\u0131".
    match = _ARXIV.search(text) if "arx" in text.lower() else None
    return match[1] if match else None


def parse_arxiv_id(text: str) -> str | None:
    """Return the arXiv id if the whole text is one, with or without a prefix such as `abs/`.

    Returns None for any other text.
    """
    match = _ARXIV_BARE.fullmatch(text.strip())
    return match[1] if match else None


def find_pmid(text: str) -> str | None:
    """Return the first PubMed number that a text labels as one, such as `PMID: 123`; None if there
    is none.
    """
    match = _PMID.search(text)
    return match[1] if match else None


def find_pmcid(text: str) -> str | None:
    """Return the first PubMed Central id in a text, such as `PMC3546780`; None if there is none."""
    match = _PMCID.search(text)
    return match[1].upper() if match else None


def find_issn(text: str) -> str | None:
    """Return the first ISSN in a text with a correct check digit, such as `1234-5679`, or None."""
    for match in _ISSN.finditer(text[:2_000]):
        digits = (match[1] + match[2]).upper()
        total = sum((8 - position) * int(digit) for position, digit in enumerate(digits[:7]))
        if (total + (10 if digits[7] == "X" else int(digits[7]))) % 11 == 0:
            return f"{digits[:4]}-{digits[4:]}"
    return None


def find_isbn(text: str) -> str | None:
    """Return the digits of the first ISBN in a text with a correct check digit, or None."""
    for match in _ISBN.finditer(text[:2_000]):
        digits = re.sub(r"[- ]", "", match[1]).upper()
        if _is_isbn(digits):
            return digits
    return None


def _is_isbn(digits: str) -> bool:
    values = [10 if value == "X" else int(value) for value in digits]
    if len(values) == 10:
        return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0
    return sum(value * (3 if place % 2 else 1) for place, value in enumerate(values)) % 10 == 0


def find_orcid(text: str) -> str | None:
    """Return the first ORCID in a text, such as `0000-0002-1825-0097`; None if its check digit is
    wrong or there is none.
    """
    match = _ORCID.search(text)
    if match is None:
        return None
    digits = "".join(match.groups()).upper()
    total = 0
    for digit in digits[:15]:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    return (
        "-".join(match.groups()).upper()
        if digits[15] == ("X" if check == 10 else str(check))
        else None
    )


def parse_number(text: str) -> str | None:
    """Return a PubMed number: the whole text if it is a number of up to eight digits, otherwise the
    first number in the text that is labelled as a PubMed number.

    Returns None if there is none.
    """
    bare = text.strip()
    return bare if bare.isascii() and bare.isdigit() and len(bare) <= 8 else find_pmid(text)


BY_TYPE: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    "doi": ("doi", find_doi_in_text),
    "arxiv": ("arxiv_id", lambda text: parse_arxiv_id(text) or find_arxiv_id(text)),
    "pmid": ("pmid", parse_number),
    "pmcid": (
        "pmcid",
        lambda text: find_pmcid(text if "pmc" in text.lower() else f"PMC{text.strip()}"),
    ),
    "pmc": (
        "pmcid",
        lambda text: find_pmcid(text if "pmc" in text.lower() else f"PMC{text.strip()}"),
    ),
    "isbn": ("isbn", find_isbn),
    "issn": ("issn", find_issn),
    "issne": ("eissn", find_issn),
    "eissn": ("eissn", find_issn),
}
"""Field of a paper, and parser of the identifier's text, for each type that a source may state,
such as `pmid` (in lower case).
"""


@dataclass(frozen=True, slots=True)
class WorkIdentifiers:
    """Normalised identifiers of a work, without prefix; None if not found."""

    doi: str | None = None
    arxiv_id: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    isbn: str | None = None
    issn: str | None = None
    eissn: str | None = None


def collect_identifiers(pairs: list[tuple[str, str]]) -> WorkIdentifiers:
    """Sort identifiers of a work into fields such as `doi` and `pmid`.

    `pairs` are the type of an identifier as the source names it ("" if none) and its text. If
    several identifiers belong to one field, the first is used. The syntax of an identifier without
    a known type decides its field.
    """
    fields: dict[str, str] = {}
    for kind, text in pairs:
        name, parse_value = BY_TYPE.get(kind.lower(), ("", None))
        parsers = [(name, parse_value)] if parse_value else _PATTERNS
        for field, parse in parsers:
            value = parse(text[:2_000]) if parse else None
            if value:
                fields.setdefault(field, value)
                break
    return WorkIdentifiers(**fields)


_PATTERNS: list[tuple[str, Callable[[str], str | None] | None]] = [
    ("doi", find_doi_in_text),
    ("arxiv_id", lambda text: find_arxiv_id(text) or parse_arxiv_id(text)),
    ("pmcid", find_pmcid),
    ("pmid", find_pmid),
]


__all__ = [
    "ARXIV_ID",
    "BY_TYPE",
    "WorkIdentifiers",
    "collect_identifiers",
    "find_arxiv_id",
    "find_isbn",
    "find_issn",
    "find_orcid",
    "find_pmcid",
    "find_pmid",
    "parse_arxiv_id",
    "parse_number",
]
