"""Collect title, authors, DOI and arXiv id of a PDF from several sources, and name the source of
each.

Source: DOI Handbook, 2.2 (syntax); arXiv, "Understanding the arXiv identifier".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fonds.extract.pdf.first_page import FrontMatter, is_name, is_title
from fonds.extract.pdf.xmp import XmpFields
from fonds.papers.bibliography.identifiers import (
    ARXIV_ID,
    find_arxiv_id,
    find_doi_in_text,
    find_labelled_doi,
    parse_doi_link,
)

T = TypeVar("T")

_AUTHORS_MAX, _NAME_MAX_CHARS = 200, 200
_PAGE_SEARCHED_CHARS = 20_000
_WORD_PREFIX = re.compile(r"(?:microsoft (?:word|powerpoint|excel)) - ", re.IGNORECASE)
_TRAILING_JOURNAL = re.compile(
    r" - [^-]{3,120}, (?:IEEE|ACM)(?:/\w+)? (?:Transactions|Journal|Magazine)(?: on)?$"
)
_SEPARATOR = re.compile(r"\s*(?:;|\n|\r)\s*")
_LIST = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)")
_PLACEHOLDER_AUTHOR = re.compile(
    r"(?:admin\w*|root|user\d*|owner|author|unknown|anonymous|default|guest|none|n/?a|test|me"
    r"|latex.*|tex|.*\b(?:microsoft|adobe|acrobat|distiller|office|writer|word)\b.*|\W*|\d+)",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"^\W{0,3}\d{0,2}\W{0,3}(?:references|bibliography|literature cited)\W{0,3}$",
    re.IGNORECASE | re.MULTILINE,
)
_ARXIV_STAMP = re.compile(
    r"arXiv:" + ARXIV_ID + r"\s{1,3}(?:\[[\w.-]{2,20}\]|\d{1,2}\s[A-Z][a-z]{2}\s\d{4})"
)


class MetadataSource(StrEnum):
    """Where in a PDF a metadata value was found: Info dictionary, XMP packet, link on the first
    page, or text of the first page. The order of preference is Info, XMP, page, link.
    """

    INFO = "info"
    XMP = "xmp"
    LINK = "link"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class BibliographicFields:
    """Title, authors, DOI and arXiv id of a PDF, each with its source; None if not found."""

    title: str | None = None
    title_from: MetadataSource | None = None
    authors: tuple[str, ...] | None = None
    authors_from: MetadataSource | None = None
    doi: str | None = None
    doi_from: MetadataSource | None = None
    arxiv_id: str | None = None
    arxiv_id_from: MetadataSource | None = None


def has_own_metadata(info: Mapping[str, str] | None) -> bool:
    """Return whether the Info dictionary of a PDF has title and authors. The first page is then not
    searched for them.
    """
    by_name = {name.lower(): value for name, value in (info or {}).items()}
    title = " ".join(by_name.get("title", "").split())
    return _validate_title(title) is not None and bool(split_authors(by_name.get("author", "")))


def extract_bibliographic(
    info: Mapping[str, str] | None,
    xmp: XmpFields,
    front: FrontMatter,
    page: str,
    links: Sequence[str],
) -> BibliographicFields:
    """Find title, authors, DOI and arXiv id of a PDF.

    - `info`: Info dictionary of the PDF.
    - `xmp`: fields of the XMP packet.
    - `front`: title and authors on the first page.
    - `page`: text of the first page.
    - `links`: URLs of the links on the first page.
    """
    by_name = {name.lower(): value for name, value in (info or {}).items()}
    page_start = page[:_PAGE_SEARCHED_CHARS]
    title, title_from = _choose_first(_iter_titles(by_name, xmp, front))
    authors, authors_from = _choose_first(_iter_authors(by_name, xmp, front))
    doi, doi_from = _choose_first(_iter_dois(by_name, xmp, page_start, links))
    arxiv_id, arxiv_id_from = _choose_first(_iter_arxiv_ids(by_name, xmp, page_start, links))
    return BibliographicFields(
        title=title,
        title_from=title_from,
        authors=authors,
        authors_from=authors_from,
        doi=doi,
        doi_from=doi_from,
        arxiv_id=arxiv_id,
        arxiv_id_from=arxiv_id_from,
    )


def _choose_first(
    candidates: Iterable[tuple[T | None, MetadataSource]],
) -> tuple[T, MetadataSource] | tuple[None, None]:
    """Return the first candidate with a value that is not empty, and its source."""
    return next(((value, source) for value, source in candidates if value), (None, None))


def _iter_titles(
    info: Mapping[str, str], xmp: XmpFields, front: FrontMatter
) -> Iterable[tuple[str | None, MetadataSource]]:
    title = _TRAILING_JOURNAL.sub("", " ".join(info.get("title", "").split()))
    yield _validate_title(title), MetadataSource.INFO
    yield _validate_title(xmp.title), MetadataSource.XMP
    yield front.title, MetadataSource.PAGE
    cleaned_title = _WORD_PREFIX.sub("", title)
    yield (
        cleaned_title if cleaned_title != title and is_title(cleaned_title) else None,
        MetadataSource.INFO,
    )


def _validate_title(title: str | None) -> str | None:
    return title if title and is_title(title) else None


def _iter_authors(
    info: Mapping[str, str], xmp: XmpFields, front: FrontMatter
) -> Iterable[tuple[tuple[str, ...], MetadataSource]]:
    yield tuple(split_authors(info.get("author", ""))), MetadataSource.INFO
    xmp_names = (name for author in xmp.authors for name in split_authors(author))
    yield tuple(xmp_names), MetadataSource.XMP
    yield front.authors, MetadataSource.PAGE


def split_authors(text: str) -> list[str]:
    """Return the names of persons in a text; [] if it names a program or a user account.

    A comma may separate two names, or a family name and a given name: `Doe, Jane` is one name.
    """
    names = []
    for part in _SEPARATOR.split(text):
        pieces = [piece for piece in _LIST.split(part) if piece]
        if len(pieces) > 1 and sum(map(is_name, pieces)) > len(pieces) / 2:
            names += pieces
        else:
            names.append(part)
    cleaned_names = (" ".join(name.split())[:_NAME_MAX_CHARS] for name in names)
    return list(dict.fromkeys(n for n in cleaned_names if not _PLACEHOLDER_AUTHOR.fullmatch(n)))[
        :_AUTHORS_MAX
    ]


def _iter_dois(
    info: Mapping[str, str], xmp: XmpFields, page: str, links: Sequence[str]
) -> Iterable[tuple[str | None, MetadataSource]]:
    for name in ("doi", "wps-articledoi", "subject", "keywords", "title"):
        yield find_doi_in_text(info.get(name, "")), MetadataSource.INFO
    yield xmp.doi, MetadataSource.XMP
    labelled_doi = find_labelled_doi(page)
    if labelled_doi is not None and _REFERENCES.search(page, 0, labelled_doi[1]):
        labelled_doi = None
    yield labelled_doi[0] if labelled_doi else None, MetadataSource.PAGE
    link_ids = {parse_doi_link(link) for link in links} - {None}
    yield link_ids.pop() if len(link_ids) == 1 else None, MetadataSource.LINK


def _iter_arxiv_ids(
    info: Mapping[str, str], xmp: XmpFields, page: str, links: Sequence[str]
) -> Iterable[tuple[str | None, MetadataSource]]:
    for name in ("title", "subject", "keywords", "doi", "arxivid"):
        yield find_arxiv_id(info.get(name, "")), MetadataSource.INFO
    yield xmp.arxiv_id, MetadataSource.XMP
    # Other papers are cited as `arXiv:…` too; a paper's own stamp has subject or date.
    stamp = _ARXIV_STAMP.search(page)
    yield stamp[1] if stamp else None, MetadataSource.PAGE
    link_ids = {find_arxiv_id(link) for link in links} - {None}
    yield link_ids.pop() if len(link_ids) == 1 else None, MetadataSource.LINK
