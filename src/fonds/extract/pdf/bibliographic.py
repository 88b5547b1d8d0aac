"""Title, authors, DOI and arXiv id of a PDF out of all that tells them, each with where it was found.

Source: DOI Handbook, 2.2 (syntax); arXiv, "Understanding the arXiv identifier".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from fonds.bibliography.identifiers import ARXIV_ID, arxiv_id_in
from fonds.bibliography.identifiers.doi import doi_in, doi_in_link, doi_said
from fonds.extract.pdf.pages.front import Front, is_name, is_title
from fonds.extract.pdf.xmp import XmpFields

_AUTHORS_MAX, _NAME_MAX_CHARS = 200, 200
_PAGE_SEARCHED_CHARS = 20_000
_WORD_PREFIX = re.compile(r"(?:microsoft (?:word|powerpoint|excel)) - ", re.IGNORECASE)
_JOURNAL_BEHIND = re.compile(
    r" - [^-]{3,120}, (?:IEEE|ACM)(?:/\w+)? (?:Transactions|Journal|Magazine)(?: on)?$"
)
_APART = re.compile(r"\s*(?:;|\n|\r)\s*")
_LIST = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)")
_NOBODY = re.compile(
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


class FoundIn(StrEnum):
    """Where something about a document was found; the first is believed before the next."""

    INFO = "info"
    XMP = "xmp"
    LINK = "link"
    PAGE = "page"


def tells_itself(info: Mapping[str, str] | None) -> bool:
    """Whether title and authors need not be looked for on the page."""
    by_name = {name.lower(): value for name, value in (info or {}).items()}
    stated = " ".join(by_name.get("title", "").split())
    return _judged(stated) is not None and bool(split_authors(by_name.get("author", "")))


def bibliographic(
    info: Mapping[str, str] | None, xmp: XmpFields, front: Front, page: str, links: Sequence[str]
) -> dict[str, Any]:
    """`title`, `authors`, `doi`, `arxiv_id`, each with its `…_from`; only what was found.

    `page` is the text of the first page, `links` are the addresses it leads to.
    """
    by_name = {name.lower(): value for name, value in (info or {}).items()}
    shown = page[:_PAGE_SEARCHED_CHARS]
    found: dict[str, Any] = {}
    for name, candidates in (
        ("title", _titles(by_name, xmp, front)),
        ("authors", _authors(by_name, xmp, front)),
        ("doi", _dois(by_name, xmp, shown, links)),
        ("arxiv_id", _arxiv_ids(by_name, xmp, shown, links)),
    ):
        for value, where in candidates:
            if value:
                found |= {name: value, f"{name}_from": str(where)}
                break
    return found


def _titles(
    info: Mapping[str, str], xmp: XmpFields, front: Front
) -> Iterable[tuple[str | None, FoundIn]]:
    stated = _JOURNAL_BEHIND.sub("", " ".join(info.get("title", "").split()))
    yield _judged(stated), FoundIn.INFO
    yield _judged(xmp.title), FoundIn.XMP
    yield front.title, FoundIn.PAGE
    bare = _WORD_PREFIX.sub("", stated)
    yield bare if bare != stated and is_title(bare) else None, FoundIn.INFO


def _judged(title: str | None) -> str | None:
    return title if title and is_title(title) else None


def _authors(
    info: Mapping[str, str], xmp: XmpFields, front: Front
) -> Iterable[tuple[list[str], FoundIn]]:
    yield split_authors(info.get("author", "")), FoundIn.INFO
    yield [one for said in xmp.authors for one in split_authors(said)], FoundIn.XMP
    yield list(front.authors), FoundIn.PAGE


def split_authors(text: str) -> list[str]:
    """The names in an entry that holds one or many; [] when it names a program or an account.

    A comma parts names, or a family name from a given one: `Doe, Jane` stays as it is.
    """
    names = []
    for part in _APART.split(text):
        pieces = [piece for piece in _LIST.split(part) if piece]
        if len(pieces) > 1 and sum(map(is_name, pieces)) > len(pieces) / 2:
            names += pieces
        else:
            names.append(part)
    bare = (" ".join(name.split())[:_NAME_MAX_CHARS] for name in names)
    return list(dict.fromkeys(n for n in bare if not _NOBODY.fullmatch(n)))[:_AUTHORS_MAX]


def _dois(
    info: Mapping[str, str], xmp: XmpFields, page: str, links: Sequence[str]
) -> Iterable[tuple[str | None, FoundIn]]:
    for name in ("doi", "wps-articledoi", "subject", "keywords", "title"):
        yield doi_in(info.get(name, "")), FoundIn.INFO
    yield xmp.doi, FoundIn.XMP
    said = doi_said(page)
    if said is not None and _REFERENCES.search(page, 0, said[1]):
        said = None
    yield said[0] if said else None, FoundIn.PAGE
    linked = {doi_in_link(link) for link in links} - {None}
    yield linked.pop() if len(linked) == 1 else None, FoundIn.LINK


def _arxiv_ids(
    info: Mapping[str, str], xmp: XmpFields, page: str, links: Sequence[str]
) -> Iterable[tuple[str | None, FoundIn]]:
    for name in ("title", "subject", "keywords", "doi", "arxivid"):
        yield arxiv_id_in(info.get(name, "")), FoundIn.INFO
    yield xmp.arxiv_id, FoundIn.XMP
    # Others are named as `arXiv:…` too; the stamp of its own says subject and day.
    stamp = _ARXIV_STAMP.search(page)
    yield stamp[1] if stamp else None, FoundIn.PAGE
    linked = {arxiv_id_in(link) for link in links} - {None}
    yield linked.pop() if len(linked) == 1 else None, FoundIn.LINK
