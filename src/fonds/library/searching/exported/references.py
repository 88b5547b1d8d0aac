"""Documents as references, for those who cite them: BibTeX and CSL-JSON.

Source: BibTeX's btxdoc, section 3; the CSL 1.0.2 data schema (csl-data.json).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.words import words

_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
        "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    }
)  # fmt: skip
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_IN_URLS = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C", "%": r"\%", "#": r"\#"})


def bibtex(document: IndexDocument) -> str:
    """One entry, with a key of author, year and SHA-1, which no other document has."""
    day = document.publication_date
    fields = {
        "title": f"{{{_escaped(document.article_title)}}}" if document.article_title else "",
        "author": " and ".join(f"{{{_escaped(name)}}}" for name in document.authors),
        "year": f"{day.year:04d}" if day else "",
        "month": f"{day.month}" if day else "",
        "doi": _escaped(document.doi or ""),
        "url": _BLANKS.sub("", document.url).translate(_IN_URLS),
        "language": _escaped(document.language or ""),
        "howpublished": _escaped(document.canonical_domain) if document.kind is Kind.STORY else "",
        "note": f"SHA-1 {document.sha1hex}",
    }
    told = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@{'article' if document.doi else 'misc'}{{{_key(document)},\n{told}\n}}\n"


def csl(document: IndexDocument) -> dict[str, Any]:
    """One item of CSL-JSON; what is not known is left out."""
    day, seen = document.publication_date, document.captured
    values: dict[str, Any] = {
        "id": document.id,
        "type": _csl_type(document),
        "title": document.article_title,
        "author": [{"literal": name} for name in document.authors],
        "issued": {"date-parts": [[day.year, day.month, day.day]]} if day else None,
        "accessed": {"date-parts": [[seen.year, seen.month, seen.day]]} if seen else None,
        "DOI": document.doi,
        "URL": document.url,
        "language": document.language,
        "container-title": document.canonical_domain if document.kind is Kind.STORY else None,
        "number-of-pages": document.page_count,
        "note": f"SHA-1 {document.sha1hex}",
    }
    return {name: value for name, value in values.items() if value}


def _csl_type(document: IndexDocument) -> str:
    if document.kind is Kind.STORY:
        return "article-newspaper"
    return "article-journal" if document.doi else "document"


def _key(document: IndexDocument) -> str:
    """ASCII letters and digits: the last word of the first author or site, the year, the id's beginning."""
    name = document.authors[0] if document.authors else document.canonical_domain.partition(".")[0]
    plain = unicodedata.normalize("NFKD", (words(name) or ["document"])[-1])
    letters = re.sub(r"[^A-Za-z0-9]", "", plain) or "document"
    year = f"{document.publication_date.year:04d}" if document.publication_date else ""
    return f"{letters[:30]}{year}-{re.sub('[^A-Za-z0-9]', '', document.id)[:12]}"


def _escaped(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().translate(_ESCAPED)
