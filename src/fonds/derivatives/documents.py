"""What documents of all kinds have in common: where a file came from, texts, and how they are put.

Whatever is indexed first stood in the records, so that the index can be made again from them.
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
    """Something of a file: a row, or a row with its earlier versions."""

    @property
    def sha1hex(self) -> str:
        """The file's SHA-1."""


R = TypeVar("R", bound=FileRelated)
_NOT_IN_RECORDS = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class DocumentOrigin:
    """What a document has of the capture that owns its file.

    `domain` is '' where the URL has none; `captured` None where the capture's time is not known.
    """

    url: str
    domain: str
    collection: str
    captured: date | None = None


UNKNOWN = DocumentOrigin("", "", "default")


def find_origins(records: Records, sha1hexes: Sequence[str]) -> dict[str, DocumentOrigin]:
    """Of each file what the capture that owns it says; absent where there is none."""
    return {
        key: DocumentOrigin(
            row.url, find_canonical_domain(row.url) or "", row.collection, parse_day14(row.seen)
        )
        for key, row in find_owners(records, sha1hexes).items()
    }


def find_owners(records: Records, sha1hexes: Sequence[str]) -> dict[str, EntryRow]:
    """Of each file the capture that owns it, as it was entered; absent where there is none."""
    ids = {row.sha1hex: row.capture_id for row in records.get(FileMetaRow, sha1hexes)}
    if not ids:
        return {}
    found = {row.entry_id: row for row in records.find(EntryRow, {"entry_id": list(ids.values())})}
    return {key: found[owner] for key, owner in ids.items() if owner in found}


def parse_day14(stamp: str | None) -> date | None:
    """The day of a 14-digit time; None where it is none."""
    try:
        return date.fromisoformat((stamp or "")[:8])
    except ValueError:
        return None


def parse_authors(value: object) -> tuple[str, ...]:
    """Names out of a list of names or of objects with one, as metadata has them; at most 100."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    names = (one.get("name") if isinstance(one, Mapping) else one for one in value[:AUTHORS_MAX])
    written = (
        clean_text(name).strip()[:AUTHOR_MAX_CHARS] for name in names if isinstance(name, str)
    )
    return tuple(dict.fromkeys(name for name in written if name))


def parse_doi(value: object) -> str | None:
    """A DOI as documents have it, None where there is none."""
    return (
        clean_text(value).strip().lower()[:DOI_MAX_CHARS] or None
        if isinstance(value, str)
        else None
    )


def build_text_blob(sha1hex: str, text: bytes) -> Blob:
    """The blob of a file's text."""
    return Blob(build_text_blob_key(sha1hex), text, "text/plain")


def encode_text(text: str) -> bytes:
    """The text as its blob keeps it; a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace")


def decode_blob_text(blob: bytes | None) -> str:
    """The text a blob keeps; '' where there is none."""
    return (blob or b"").decode("utf-8", "replace")


def clean_text(text: str) -> str:
    """The text as the records keep it, whether it comes from there or is on its way."""
    return _NOT_IN_RECORDS.sub("", text)


def index_until_stable(
    records: Records,
    index: Index,
    ids: Sequence[str],
    load: Callable[[], Mapping[str, R]],
    documents: Callable[[Sequence[R]], Sequence[IndexDocument]],
) -> None:
    """Put the documents of what `load` gives by their id, until it gives the same afterwards; those of
    `ids` it does not give are removed. What it gives is a row, or a row with its earlier versions. Documents
    get what is stated of their files beside what `documents` makes.

    Of several who change one document at once, whoever puts last has read the rows after the others wrote
    theirs: the index holds in the end what the rows say, whoever came first. Raises
    StoreUnavailableError when they do not come to rest.
    """
    before: Mapping[str, tuple[R, Rights]] = {}
    absent: set[str] = set()
    for _ in range(ROUNDS_MAX):
        rows = load()
        rights = load_file_rights(records, [row.sha1hex for row in rows.values()])
        now = {id_: (row, rights[row.sha1hex]) for id_, row in rows.items()}
        changed = [row for id_, (row, _) in now.items() if before.get(id_) != now[id_]]
        gone = {*ids} - rows.keys()
        if not changed and gone == absent:
            return
        if changed:
            index.put([set_rights(one, rights[one.sha1hex]) for one in documents(changed)])
        if gone - absent:
            index.delete(sorted(gone - absent))
        before, absent = now, gone
    raise StoreUnavailableError(f"the rows of {', '.join(sorted(ids)[:3])} change all the time")
