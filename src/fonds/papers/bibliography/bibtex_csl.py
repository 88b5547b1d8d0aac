"""Export documents as references in BibTeX and CSL-JSON.

Source: BibTeX's btxdoc, section 3; the CSL 1.0.2 data schema (csl-data.json).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any
from urllib.parse import urlunsplit

from fonds.fetching.addresses import is_public
from fonds.model.bibliography import Journal
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.papers.bibliography.person_names import split_name
from fonds.text.words import split_words
from fonds.urls.parts import split_address

_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
        "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    }
)  # fmt: skip
_PUBLIC_SCHEMES = frozenset({"http", "https", "ftp"})
_PRIVATE_DOMAINS = frozenset({"internal", "intranet", "lan", "local", "localdomain", "localhost"})
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_IN_URLS = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C", "%": r"\%", "#": r"\#"})


def format_bibtex(document: IndexDocument, journal: Journal | None = None) -> str:
    """Format a document as a BibTeX entry. The key of the entry combines author, year and the
    beginning of the document id.
    """
    journal = journal or Journal()
    day = document.publication_date
    fields = {
        "title": f"{{{_escape(document.article_title)}}}" if document.article_title else "",
        "author": " and ".join(map(_format_bibtex_name, document.authors)),
        "year": f"{day.year:04d}" if day else "",
        "month": f"{day.month}" if day else "",
        "journal": _escape(journal.name or ""),
        "volume": _escape(journal.volume or ""),
        "number": _escape(journal.issue or ""),
        "pages": _escape(journal.pages or "").replace("-", "--"),
        "publisher": _escape(journal.publisher or ""),
        "issn": _escape(journal.issn or journal.eissn or ""),
        "doi": _escape(document.doi or ""),
        "url": clean_public_url(document.url).translate(_IN_URLS),
        "language": _escape(document.language or ""),
        "copyright": _escape("; ".join((*document.holders, *document.licenses))),
        "howpublished": _escape(document.canonical_domain) if document.kind is Kind.STORY else "",
        "note": f"SHA-1 {document.sha1hex}",
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    entry_type = "article" if document.doi or journal.name else "misc"
    return f"@{entry_type}{{{_build_citation_key(document)},\n{lines}\n}}\n"


def build_csl(document: IndexDocument, journal: Journal | None = None) -> dict[str, Any]:
    """Build the CSL-JSON item of a document. Unknown fields are omitted."""
    journal = journal or Journal()
    site = document.canonical_domain if document.kind is Kind.STORY else None
    day, captured_date = document.publication_date, document.captured
    values: dict[str, Any] = {
        "id": document.id,
        "type": "article-journal" if journal.name else _choose_csl_type(document),
        "title": document.article_title,
        "author": [_build_csl_name(name) for name in document.authors],
        "issued": {"date-parts": [[day.year, day.month, day.day]]} if day else None,
        "accessed": {"date-parts": [[captured_date.year, captured_date.month, captured_date.day]]}
        if captured_date
        else None,
        "DOI": document.doi,
        "URL": clean_public_url(document.url),
        "language": document.language,
        "container-title": journal.name or site,
        "volume": journal.volume,
        "issue": journal.issue,
        "page": journal.pages,
        "publisher": journal.publisher,
        "ISSN": journal.issn or journal.eissn,
        "number-of-pages": document.page_count,
        "note": f"SHA-1 {document.sha1hex}",
    }
    return {name: value for name, value in values.items() if value}


def clean_public_url(url: str) -> str:
    """Return a URL without blanks and credentials; "" if the URL is not public.

    Local paths, buckets and addresses in private networks are not public.
    """
    parts = split_address(_BLANKS.sub("", url))
    host = parts.host.lower().rstrip(".")
    if parts.scheme not in _PUBLIC_SCHEMES or not _is_public_host(host):
        return ""
    return urlunsplit(
        (
            parts.scheme,
            (parts.authority or "").rpartition("@")[2],
            parts.path,
            parts.query or "",
            parts.fragment or "",
        )
    )


def _is_public_host(host: str) -> bool:
    try:
        return is_public(host.strip("[]"))
    except ValueError:
        return "." in host and host.rpartition(".")[2] not in _PRIVATE_DOMAINS


def _format_bibtex_name(name: str) -> str:
    """Format a name as `von Family, Suffix, Given`.

    A name that cannot be split is put in braces.
    """
    person = split_name(name)
    if person is None:
        return f"{{{_escape(name)}}}"
    family = f"{person.particle} {person.family}".strip()
    parts = (family, person.suffix, person.given) if person.suffix else (family, person.given)
    return ", ".join(map(_escape, parts))


def _build_csl_name(name: str) -> dict[str, str]:
    person = split_name(name)
    if person is None:
        return {"literal": name}
    parts = {
        "family": person.family,
        "given": person.given,
        "non-dropping-particle": person.particle,
        "suffix": person.suffix,
    }
    return {part: value for part, value in parts.items() if value}


def _choose_csl_type(document: IndexDocument) -> str:
    if document.kind is Kind.STORY:
        return "article-newspaper"
    return "article-journal" if document.doi else "document"


def _build_citation_key(document: IndexDocument) -> str:
    """Build the key of a BibTeX entry from ASCII letters and digits.

    The key consists of the first author's family name (without authors, the site's name), the year,
    and the beginning of the document id.
    """
    name = document.authors[0] if document.authors else document.canonical_domain.partition(".")[0]
    person = split_name(name)
    name = person.family if person else name
    plain = unicodedata.normalize("NFKD", (split_words(name) or ["document"])[-1])
    letters = re.sub(r"[^A-Za-z0-9]", "", plain) or "document"
    year = f"{document.publication_date.year:04d}" if document.publication_date else ""
    return f"{letters[:30]}{year}-{re.sub('[^A-Za-z0-9]', '', document.id)[:12]}"


def _escape(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().translate(_ESCAPED)
