"""Index documents of all derivative kinds: their origin, their text, and how they are put into the
index.

All indexed data is written to the SQL rows first, so that the index can be rebuilt from these rows.
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
    """Protocol for a value about one file: a derivative row, alone or with rows of earlier
    versions.
    """

    @property
    def sha1hex(self) -> str:
        """SHA-1 of the file that the value is about."""


R = TypeVar("R", bound=FileRelated)
_NOT_IN_RECORDS = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class DocumentOrigin:
    """Values that an index document takes from the primary capture of its file.

    - `url`: URL of the capture.
    - `domain`: domain of the URL; '' if it has none.
    - `collection`: collection of the capture.
    - `captured`: date of the capture; None if unknown.
    """

    url: str
    domain: str
    collection: str
    captured: date | None = None


UNKNOWN = DocumentOrigin("", "", "default")


def find_origins(records: Records, sha1hexes: Sequence[str]) -> dict[str, DocumentOrigin]:
    """Return the values that index documents take from the primary captures of files, by SHA-1 of
    the file.

    Files without a primary capture are omitted.
    """
    return {
        key: DocumentOrigin(
            row.url, find_canonical_domain(row.url) or "", row.collection, parse_day14(row.seen)
        )
        for key, row in find_owners(records, sha1hexes).items()
    }


def find_owners(records: Records, sha1hexes: Sequence[str]) -> dict[str, EntryRow]:
    """Return the ledger entry of each file's primary capture, by SHA-1. Files without such an entry
    are omitted.
    """
    ids = {row.sha1hex: row.capture_id for row in records.get(FileMetaRow, sha1hexes)}
    if not ids:
        return {}
    entries = {
        row.entry_id: row for row in records.find(EntryRow, {"entry_id": list(ids.values())})
    }
    return {key: entries[owner] for key, owner in ids.items() if owner in entries}


def parse_day14(stamp: str | None) -> date | None:
    """Return the date of a time of 14 digits (YYYYMMDDhhmmss); None if the date is invalid."""
    try:
        return date.fromisoformat((stamp or "")[:8])
    except ValueError:
        return None


def parse_authors(value: object) -> tuple[str, ...]:
    """Return up to 100 author names from a metadata field: one name, or a list of names or of
    objects with a `name`.
    """
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
    """Return a DOI as documents store it (lower case, cut at 300 characters).

    Return None if `value` is empty or not a string.
    """
    return (
        clean_text(value).strip().lower()[:DOI_MAX_CHARS] or None
        if isinstance(value, str)
        else None
    )


def build_text_blob(sha1hex: str, text: bytes) -> Blob:
    """Build the blob that stores the text of a file."""
    return Blob(build_text_blob_key(sha1hex), text, "text/plain")


def encode_text(text: str) -> bytes:
    """Encode a text as a blob stores it: UTF-8, with a question mark for each lone surrogate."""
    return text.encode("utf-8", "replace")


def decode_blob_text(blob: bytes | None) -> str:
    """Decode the text of a blob; None becomes ''."""
    return (blob or b"").decode("utf-8", "replace")


def clean_text(text: str) -> str:
    """Remove characters that a database cannot store (null characters and surrogates)."""
    if text.isascii() and "\x00" not in text:
        return text
    return _NOT_IN_RECORDS.sub("", text)


def index_until_stable(
    records: Records,
    index: Index,
    ids: Sequence[str],
    load: Callable[[], Mapping[str, R]],
    documents: Callable[[Sequence[R]], Sequence[IndexDocument]],
) -> None:
    """Put the index documents of current rows into the index, and repeat this until the rows no
    longer change.

    - `ids`: ids of the documents to update. Ids that `load` does not return are deleted from the
      index.
    - `load`: function that loads the current rows, by document id.
    - `documents`: function that builds documents from rows. Rights of the files are added
      afterwards.

    Several processes may update one document at a time. The process that puts the document last has
    loaded the rows that all others wrote. The index therefore agrees with the rows in the end.
    Raises StoreUnavailableError if the rows still change after 10 rounds.
    """
    previous: Mapping[str, tuple[R, Rights]] = {}
    absent: set[str] = set()
    for _ in range(ROUNDS_MAX):
        rows = load()
        rights = load_file_rights(records, [row.sha1hex for row in rows.values()])
        now = {id_: (row, rights[row.sha1hex]) for id_, row in rows.items()}
        changed_rows = [row for id_, (row, _) in now.items() if previous.get(id_) != now[id_]]
        removed_ids = {*ids} - rows.keys()
        if not changed_rows and removed_ids == absent:
            return
        if changed_rows:
            index.put(
                [
                    set_rights(document, rights[document.sha1hex])
                    for document in documents(changed_rows)
                ]
            )
        if removed_ids - absent:
            index.delete(sorted(removed_ids - absent))
        previous, absent = now, removed_ids
    raise StoreUnavailableError(f"the rows of {', '.join(sorted(ids)[:3])} keep changing")
