"""Kept files that no search finds, because nothing here reads text from files of their types."""

from __future__ import annotations

import re

from fonds.model.file import Kind, classify_mime
from fonds.model.rows import FileMetaRow
from fonds.ports import Records

_WITHOUT_TEXT = re.compile(
    rf"(?<![^\s(])(?:text:none|kind:\"?{Kind.UNREAD}\"?)(?![^\s)])", re.IGNORECASE
)


def has_no_text_filter(query: str) -> bool:
    """Whether a query asks for documents without text, or for files of types without readers."""
    return _WITHOUT_TEXT.search(query) is not None


def describe_unread(records: Records, query: str) -> str | None:
    """Return how many kept files are missing from a search for them, as a sentence for people.

    None for every other query, and where no such file is kept.
    """
    if not has_no_text_filter(query):
        return None
    counts = records.count(FileMetaRow, ("mimetype",))
    unread = {
        mime: count for (mime,), count in counts.items() if classify_mime(mime) is Kind.UNREAD
    }
    if not unread:
        return None
    types = ", ".join(f"{count:,} {mime}" for mime, count in sorted(unread.items()))
    return (
        f"Kept files of types that Fonds reads no text from are not in the index: {types}."
        " The page of records lists them by the reason unread-type."
    )
