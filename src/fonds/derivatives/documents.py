"""Index documents of all kinds: their origins, their texts, and how they are put into the index.

All that is indexed is written to the records first, so the index can be rebuilt from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeVar

from fonds.model.archive import Blob
from fonds.model.document import IndexDocument
from fonds.model.errors import StoreUnavailableError
from fonds.model.keys import build_text_blob_key
from fonds.model.rights import Rights
from fonds.model.rows import EntryRow, FileMetaRow
from fonds.ports import Index, Records
from fonds.rights.combined_rights import load_file_rights, set_rights
from fonds.urls.normalization import find_canonical_domain

ROUNDS_MAX = 10
AUTHORS_MAX, AUTHOR_MAX_CHARS, DOI_MAX_CHARS = 100, 200, 300


class FileRelated(Protocol):
    """A row of a file, or such a row with its earlier versions."""

    @property
    def sha1hex(self) -> str:
        """Return the file's SHA-1."""


R = TypeVar("R", bound=FileRelated)
_NOT_IN_RECORDS = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class DocumentOrigin:
    """What a document takes from its file's primary capture.

    `domain` is '' where the URL has none; `captured` is None if the capture time is unknown.
    """

    url: str
    domain: str
    collection: str
    captured: date | None = None


UNKNOWN = DocumentOrigin("", "", "default")


def find_origins(records: Records, sha1hexes: Sequence[str]) -> dict[str, DocumentOrigin]:
    """Return the origin of each file; files without a primary capture are absent."""
    return {
        key: DocumentOrigin(
            row.url, find_canonical_domain(row.url) or "", row.collection, parse_day14(row.seen)
        )
        for key, row in find_owners(records, sha1hexes).items()
    }


def find_owners(records: Records, sha1hexes: Sequence[str]) -> dict[str, EntryRow]:
    """Return the entry of each file's primary capture; files without one are absent."""
    ids = {row.sha1hex: row.capture_id for row in records.get(FileMetaRow, sha1hexes)}
    if not ids:
        return {}
    entries = {
        row.entry_id: row for row in records.find(EntryRow, {"entry_id": list(ids.values())})
    }
    return {key: entries[owner] for key, owner in ids.items() if owner in entries}


def parse_day14(stamp: str | None) -> date | None:
    """Return the date of a 14-digit time, or None if it is invalid."""
    try:
        return date.fromisoformat((stamp or "")[:8])
    except ValueError:
        return None


def parse_authors(value: object) -> tuple[str, ...]:
    """Return the names in a list of names or of objects with a `name`, as in metadata; at most 100."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    names = (
        author.get("name") if isinstance(author, Mapping) else author
        for author in value[:AUTHORS_MAX]
    )
    cleaned_names = (
        clean_text(name).strip()[:AUTHOR_MAX_CHARS] for name in names if isinstance(name, str)
    )
    return tuple(dict.fromkeys(name for name in cleaned_names if name))


def parse_doi(value: object) -> str | None:
    """Return a DOI as documents store it, or None."""
    return (
        clean_text(value).strip().lower()[:DOI_MAX_CHARS] or None
        if isinstance(value, str)
        else None
    )


def build_text_blob(sha1hex: str, text: bytes) -> Blob:
    """Return the blob of a file's text."""
    return Blob(build_text_blob_key(sha1hex), text, "text/plain")


def encode_text(text: str) -> bytes:
    """Encode a text as its blob stores it; a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace")


def decode_blob_text(blob: bytes | None) -> str:
    """Decode the text of a blob; '' for None."""
    return (blob or b"").decode("utf-8", "replace")


def clean_text(text: str) -> str:
    """Remove the characters that the records cannot store."""
    return _NOT_IN_RECORDS.sub("", text)


def index_until_stable(
    records: Records,
    index: Index,
    ids: Sequence[str],
    load: Callable[[], Mapping[str, R]],
    documents: Callable[[Sequence[R]], Sequence[IndexDocument]],
) -> None:
    """Put the documents of the rows that `load` returns, and repeat until `load` returns the same.

    `load` returns rows by document id, or rows with their earlier versions.
    `documents` builds documents from them; the files' rights are added here.
    Those of `ids` that `load` does not return are deleted.

    When several processes change one document, the last to put it has read the rows after the
    others wrote theirs. The index therefore ends up with what the rows say, in whatever order they
    came.

    Raises StoreUnavailableError if the rows still change after 10 rounds.
    """
    previous: Mapping[str, tuple[R, Rights]] = {}
    absent: set[str] = set()
    for _ in range(ROUNDS_MAX):
        rows = load()
        rights = load_file_rights(records, [row.sha1hex for row in rows.values()])
        now = {id_: (row, rights[row.sha1hex]) for id_, row in rows.items()}
        changed = [row for id_, (row, _) in now.items() if previous.get(id_) != now[id_]]
        removed_ids = {*ids} - rows.keys()
        if not changed and removed_ids == absent:
            return
        if changed:
            index.put(
                [set_rights(document, rights[document.sha1hex]) for document in documents(changed)]
            )
        if removed_ids - absent:
            index.delete(sorted(removed_ids - absent))
        previous, absent = now, removed_ids
    raise StoreUnavailableError(f"the rows of {', '.join(sorted(ids)[:3])} keep changing")
