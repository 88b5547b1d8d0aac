"""A citation as people read it: as it was printed, else put together from its fields."""

from __future__ import annotations

from fonds.bibliography.paper import Citation

SHOWN_MAX_CHARS, NAMES_SHOWN = 600, 6


def printed(citation: Citation) -> str:
    """One line, at most 600 characters long."""
    if citation.unstructured:
        return citation.unstructured[:SHOWN_MAX_CHARS]
    names = [one.name for one in citation.authors]
    authors = ", ".join(names[:NAMES_SHOWN]) + (" et al" if len(names) > NAMES_SHOWN else "")
    where = citation.journal or citation.book_title or citation.publisher
    numbers = " ".join(
        filter(None, (citation.volume, citation.pages and f"pages {citation.pages}"))
    )
    doi = f"doi:{citation.doi}" if citation.doi else None
    parts = (authors, citation.date, citation.title, where, numbers, doi or citation.url)
    return ". ".join(part for part in parts if part)[:SHOWN_MAX_CHARS]
