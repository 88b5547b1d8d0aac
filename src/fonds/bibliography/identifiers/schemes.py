"""arXiv id, PubMed ids, ISBN, ISSN and ORCID in texts: found, and brought to one form as DOIs are (`doi.py`).

Source: arXiv, "Understanding the arXiv identifier"; ISO 3297 and ISO 2108 (check digits);
ISO 7064, MOD 11-2 (ORCID).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fonds.bibliography.identifiers.doi import doi_in

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


def arxiv_id_in(text: str) -> str | None:
    """The arXiv id in a text or address that calls it one, without its version."""
    found = _ARXIV.search(text)
    return found[1] if found else None


def arxiv_id_of(text: str) -> str | None:
    """The arXiv id a text is, also without saying so, as in `abs/1901.00596`."""
    found = _ARXIV_BARE.fullmatch(text.strip())
    return found[1] if found else None


def pmid_in(text: str) -> str | None:
    """The PubMed number in a text that calls it one."""
    found = _PMID.search(text)
    return found[1] if found else None


def pmcid_in(text: str) -> str | None:
    """The PubMed Central id in a text, as `PMC3546780`."""
    found = _PMCID.search(text)
    return found[1].upper() if found else None


def issn_in(text: str) -> str | None:
    """The first ISSN in a text, as `1234-5679`, whose check digit is right."""
    for found in _ISSN.finditer(text[:2_000]):
        digits = (found[1] + found[2]).upper()
        total = sum((8 - place) * int(one) for place, one in enumerate(digits[:7]))
        if (total + (10 if digits[7] == "X" else int(digits[7]))) % 11 == 0:
            return f"{digits[:4]}-{digits[4:]}"
    return None


def isbn_in(text: str) -> str | None:
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


def orcid_in(text: str) -> str | None:
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


def number_of(text: str) -> str | None:
    """A bare number, as a PubMed id is in a field of its own."""
    bare = text.strip()
    return bare if bare.isascii() and bare.isdigit() and len(bare) <= 8 else pmid_in(text)


BY_TYPE: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    "doi": ("doi", doi_in),
    "arxiv": ("arxiv_id", lambda text: arxiv_id_of(text) or arxiv_id_in(text)),
    "pmid": ("pmid", number_of),
    "pmcid": (
        "pmcid",
        lambda text: pmcid_in(text if "pmc" in text.lower() else f"PMC{text.strip()}"),
    ),
    "pmc": (
        "pmcid",
        lambda text: pmcid_in(text if "pmc" in text.lower() else f"PMC{text.strip()}"),
    ),
    "isbn": ("isbn", isbn_in),
    "issn": ("issn", issn_in),
    "issne": ("eissn", issn_in),
    "eissn": ("eissn", issn_in),
}
"""Which field an identifier of a stated type (in lower case) is, and how it is brought to its form."""


def identifiers(stated: list[tuple[str, str]]) -> dict[str, str]:
    """Fields out of pairs of a type, `""` for none, and a text; the first of a field counts.

    What has no type, or one not known, is taken for what it looks like.
    """
    found: dict[str, str] = {}
    for kind, text in stated:
        name, read = BY_TYPE.get(kind.lower(), ("", None))
        ways = [(name, read)] if read else _LOOKS
        for field, way in ways:
            value = way(text[:2_000]) if way else None
            if value:
                found.setdefault(field, value)
                break
    return found


_LOOKS: list[tuple[str, Callable[[str], str | None] | None]] = [
    ("doi", doi_in),
    ("arxiv_id", lambda text: arxiv_id_in(text) or arxiv_id_of(text)),
    ("pmcid", pmcid_in),
    ("pmid", pmid_in),
]
