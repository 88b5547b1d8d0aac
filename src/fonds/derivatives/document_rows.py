"""Index documents of a kind: which rows they are built from, and how.

One function builds documents, for the steps, for `fonds reindex`, for repair, embargoes and
takedowns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from fonds.derivatives.documents import UNKNOWN, DocumentOrigin, decode_blob_text, find_origins
from fonds.model.document import EarlierVersion, IndexDocument
from fonds.model.keys import build_text_blob_key
from fonds.ports import Blobs, Records

EARLIER_MAX_CHARS = 1_000_000
"""Maximum characters of earlier versions in one document."""
WORD_MAX_CHARS = 100


@dataclass(frozen=True, slots=True)
class EarlierText:
    """A version captured before the one a document is built from.

    - `captured` has 14 digits.
    - `text` identifies the text (its SHA-256 or a substitute); None if a later version has the same
      text.
    - `updated` is when the version's row was written.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str | None
    updated: datetime


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """The row a document is built from, and the earlier versions whose texts it carries, newest
    first.

    `omitted_count` is the number of further earlier versions.
    Two equal values build the same document.
    """

    row: Any
    earlier: tuple[EarlierText, ...] = ()
    omitted_count: int = 0

    @property
    def sha1hex(self) -> str:
        """Return the SHA-1 of the row's file."""
        sha1hex: str = self.row.sha1hex
        return sha1hex


def _list_only_versions(records: Records, ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {id_: (id_,) for id_ in ids}


@dataclass(frozen=True, slots=True)
class IndexedKind:
    """How the documents of a kind are built.

    - `row_filter` selects the rows that may have a document.
    - `get_id` returns the id of a row's document.
    - `load_current` returns what to build documents from, by id; ids without a document are absent.
    - `has_text` tells whether the blob store may hold a text.
    - `document` builds a document from row, text and origin.
    - `versions` returns, by document id, the SHA-1s of the files it may be built from, the current
      one last.
    """

    row_filter: Mapping[str, object]
    get_id: Callable[[Any], str]
    load_current: Callable[[Records, Sequence[str]], Mapping[str, CurrentRow]]
    has_text: Callable[[Any], bool]
    document: Callable[[Any, bytes | None, DocumentOrigin], IndexDocument]
    versions: Callable[[Records, Sequence[str]], Mapping[str, Sequence[str]]] = _list_only_versions


def wrap_unversioned(
    rows: Callable[[Records, Sequence[str]], Mapping[str, Any]],
) -> Callable[[Records, Sequence[str]], Mapping[str, CurrentRow]]:
    """Make the `load_current` of a kind without versions from the function that loads its rows."""
    return lambda records, ids: {id_: CurrentRow(row) for id_, row in rows(records, ids).items()}


def iter_index_documents(
    kind: IndexedKind,
    records: Records,
    blobs: Blobs,
    current: Sequence[CurrentRow],
    loaded: Mapping[str, tuple[bytes, DocumentOrigin]] = MappingProxyType({}),
    textless: list[str] | None = None,
) -> Iterator[IndexDocument]:
    """Yield the documents of these rows with their texts, one at a time, without the files' rights.

    `loaded` has text and origin of files already in memory.
    Files whose text is missing from the blob store are appended to `textless`.
    """
    keys = [row_versions.row.sha1hex for row_versions in current]
    origins = find_origins(records, [key for key in keys if key not in loaded])

    def text_of_file(sha1hex: str) -> bytes | None:
        if sha1hex in loaded:
            return loaded[sha1hex][0]
        blob = blobs.get(build_text_blob_key(sha1hex))
        if blob is None and textless is not None:
            textless.append(sha1hex)
        return blob

    for row_versions, key in zip(current, keys, strict=True):
        text = text_of_file(key) if kind.has_text(row_versions.row) else None
        origin = loaded[key][1] if key in loaded else origins.get(key, UNKNOWN)
        yield add_earlier_texts(
            kind.document(row_versions.row, text, origin), row_versions, text_of_file
        )


def add_earlier_texts(
    document: IndexDocument, current: CurrentRow, text_of_file: Callable[[str], bytes | None]
) -> IndexDocument:
    """Return the document with as many texts of its earlier versions as fit.

    A text that is too long is cut between words, and the texts after it are omitted.
    `text_of_file` returns a file's text by SHA-1.
    """
    chars_left, omitted_count = EARLIER_MAX_CHARS, current.omitted_count
    earlier = []
    for version in current.earlier:
        text = ""
        if version.text is not None and chars_left:
            full_text = decode_blob_text(text_of_file(version.sha1hex))
            text = _shorten(full_text, chars_left)
            chars_left = chars_left - len(text) if text == full_text else 0
            omitted_count += text != full_text
        elif version.text is not None:
            omitted_count += 1
        earlier.append(EarlierVersion(version.sha1hex, version.captured, version.title, text))
    return replace(document, earlier=tuple(earlier), earlier_left_out=omitted_count)


def _shorten(text: str, max_chars: int) -> str:
    """Return the beginning of a text without a partial last word."""
    if len(text) <= max_chars:
        return text
    beginning = text[:max_chars]
    end = max(beginning.rfind(blank, len(beginning) - WORD_MAX_CHARS) for blank in " \n")
    return beginning if end < 0 or text[max_chars].isspace() else beginning[:end]
