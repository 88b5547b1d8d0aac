"""Explain which stored files are missing from the index because Fonds reads no text from their
types.
"""

from __future__ import annotations

import re

from fonds.model.file import Kind, classify_mime
from fonds.ports import Records

_WITHOUT_TEXT = re.compile(
    rf"(?<![^\s(])(?:text:none|kind:\"?{Kind.UNREAD}\"?)(?![^\s)])", re.IGNORECASE
)


def has_no_text_filter(query: str) -> bool:
    """Return whether a query asks for files without text.

    The query contains `text:none` or `kind:unread`.
    """
    return _WITHOUT_TEXT.search(query) is not None


def describe_unread(records: Records, query: str) -> str | None:
    """Return sentences that count the stored files of types from which Fonds reads no text.

    Returns None if the query does not ask for such files, or if none is stored.
    """
    if not has_no_text_filter(query):
        return None
    # Imported here because the row types are slow to import, and few searches need them.
    from fonds.model.rows import FileMetaRow

    counts = records.count(FileMetaRow, ("mimetype",))
    unread_counts = {
        mime: count for (mime,), count in counts.items() if classify_mime(mime) is Kind.UNREAD
    }
    if not unread_counts:
        return None
    types = ", ".join(f"{count:,} {mime}" for mime, count in sorted(unread_counts.items()))
    return (
        f"Files of types whose text Fonds does not extract are stored but not in the index: {types}."
        " To list them, filter the records by the reason unread-type."
    )
