"""What a DOI is, and how one is found: in running text, said to be one, in a link, in a path, and alone.

Source: DOI Handbook, 2.2 (prefix `10.` and a registrant, suffix of any printing characters, no case);
Crossref, "DOIs and matching regular expressions" (registrants of four to nine digits); ANSI/NISO Z39.56,
SICI, whose angle brackets stand in DOIs of the 1990s.
Bound: a DOI has 300 characters; one that is longer is cut in a text, and none where it stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

DOI_PREFIX = r"10\.[0-9]{4,9}/"
"""With its slash; for patterns of which a DOI is a part."""

_MAX_CHARS = 300
_SICI = r"<[^\s\"<>]{1,60}>(?=[0-9]\.[0-9A-Z]\.[A-Z]{2};[0-9A-Z])"
_IN_TEXT = DOI_PREFIX + r"(?:[^\s\"<>]|" + _SICI + r"){1,300}"
_RESOLVER = r"(?:https?://)?(?:dx\.|www\.)?doi\.org/"
_TEXT = re.compile(_IN_TEXT, re.IGNORECASE)
_ALONE = re.compile(DOI_PREFIX + r"\S{1,300}")
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
    """The first DOI in running text, in lower case, without a full stop behind it; None when there is none.

    A blank, a quote or an angle bracket ends it there, but for the brackets of a SICI.
    """
    found = _TEXT.search(text)
    return _strip_punctuation(found[0]) if found else None


def parse_doi(text: str) -> str | None:
    """The DOI a text is, in lower case, with or without a resolver or `doi:` before it; None where it is
    none, or more than one. What stands in it belongs to it, punctuation at its end as well."""
    bare = strip_resolver(text.strip())
    return bare.lower() if len(bare) <= _MAX_CHARS and _ALONE.fullmatch(bare) else None


def parse_doi_link(url: str) -> str | None:
    """The DOI a link to a resolver leads to, its escapes undone; None for other links."""
    return find_doi_in_text(unquote(url)) if "doi.org/10." in url.lower() else None


def find_labelled_doi(text: str) -> tuple[str, int] | None:
    """The first DOI a text calls one, and where this begins: a page names others' without a word, too."""
    found = _LABELLED.search(text) if "10." in text else None
    doi = _strip_punctuation(found[1]) if found else None
    return (doi, found.start()) if found and doi else None


def find_doi_span(text: str) -> re.Match[str] | None:
    """The first DOI with the words and the resolver that introduce it, for taking it out of a text."""
    return _SPAN.search(text) if "10." in text else None


def strip_resolver(text: str) -> str:
    """A text without the address of a resolver or `doi:` at its beginning."""
    found = _PREFIX.match(text)
    return text[found.end() :] if found else text


def is_doi_prefix(path: str) -> bool:
    """Whether a part of a path looks like the prefix of a DOI. Three to five digits: the rule by which papers
    have been cut out of crawls, which is kept as it is so that the same captures are found."""
    return _PATH_PART.search(path) is not None


def _strip_punctuation(text: str) -> str | None:
    """A closing bracket belongs to it where one was opened in it, as in the DOIs of 1990."""
    cut = _TEXT.match(text[:_MAX_CHARS])
    doi = cut[0] if cut else ""
    while doi and (doi[-1] in ".,;'\u2019\u201d" or _is_unopened(doi)):
        doi = doi[:-1]
    return doi.lower() if "/" in doi and not doi.endswith("/") else None


def _is_unopened(doi: str) -> bool:
    pair = {")": "(", "]": "[", "}": "{"}.get(doi[-1])
    return pair is not None and doi.count(doi[-1]) > doi.count(pair)


# arXiv id, PubMed ids, ISBN, ISSN and ORCID in texts: found, and brought to one form as DOIs are (`doi.py`).
#
# Source: arXiv, "Understanding the arXiv identifier"; ISO 3297 and ISO 2108 (check digits);
# ISO 7064, MOD 11-2 (ORCID).


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
    """The arXiv id in a text or address that calls it one, without its version."""
    found = _ARXIV.search(text)
    return found[1] if found else None


def parse_arxiv_id(text: str) -> str | None:
    """The arXiv id a text is, also without saying so, as in `abs/1901.00596`."""
    found = _ARXIV_BARE.fullmatch(text.strip())
    return found[1] if found else None


def find_pmid(text: str) -> str | None:
    """The PubMed number in a text that calls it one."""
    found = _PMID.search(text)
    return found[1] if found else None


def find_pmcid(text: str) -> str | None:
    """The PubMed Central id in a text, as `PMC3546780`."""
    found = _PMCID.search(text)
    return found[1].upper() if found else None


def find_issn(text: str) -> str | None:
    """The first ISSN in a text, as `1234-5679`, whose check digit is right."""
    for found in _ISSN.finditer(text[:2_000]):
        digits = (found[1] + found[2]).upper()
        total = sum((8 - place) * int(one) for place, one in enumerate(digits[:7]))
        if (total + (10 if digits[7] == "X" else int(digits[7]))) % 11 == 0:
            return f"{digits[:4]}-{digits[4:]}"
    return None


def find_isbn(text: str) -> str | None:
    """The first ISBN in a text, its digits alone, whose check digit is right."""
    for found in _ISBN.finditer(text[:2_000]):
        digits = re.sub(r"[- ]", "", found[1]).upper()
        if _is_isbn(digits):
            return digits
    return None


def _is_isbn(digits: str) -> bool:
    values = [10 if one == "X" else int(one) for one in digits]
    if len(values) == 10:
        return sum((10 - place) * one for place, one in enumerate(values)) % 11 == 0
    return sum(one * (3 if place % 2 else 1) for place, one in enumerate(values)) % 10 == 0


def find_orcid(text: str) -> str | None:
    """The ORCID in a text or address, as `0000-0002-1825-0097`, whose check digit is right."""
    found = _ORCID.search(text)
    if found is None:
        return None
    digits = "".join(found.groups()).upper()
    total = 0
    for one in digits[:15]:
        total = (total + int(one)) * 2
    check = (12 - total % 11) % 11
    return (
        "-".join(found.groups()).upper()
        if digits[15] == ("X" if check == 10 else str(check))
        else None
    )


def parse_number(text: str) -> str | None:
    """A bare number, as a PubMed id is in a field of its own."""
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
"""Which field an identifier of a stated type (in lower case) is, and how it is brought to its form."""


def collect_identifiers(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Fields out of pairs of a type, `""` for none, and a text; the first of a field counts.

    What has no type, or one not known, is taken for what it looks like.
    """
    found: dict[str, str] = {}
    for kind, text in pairs:
        name, read = BY_TYPE.get(kind.lower(), ("", None))
        ways = [(name, read)] if read else _PATTERNS
        for field, way in ways:
            value = way(text[:2_000]) if way else None
            if value:
                found.setdefault(field, value)
                break
    return found


_PATTERNS: list[tuple[str, Callable[[str], str | None] | None]] = [
    ("doi", find_doi_in_text),
    ("arxiv_id", lambda text: find_arxiv_id(text) or parse_arxiv_id(text)),
    ("pmcid", find_pmcid),
    ("pmid", find_pmid),
]


# Identifiers of papers: what a DOI is (`doi.py`), and the other schemes (`schemes.py`).


__all__ = [
    "ARXIV_ID",
    "BY_TYPE",
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
