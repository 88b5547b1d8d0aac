"""Build the index documents of one kind of derivative from its rows in the database.

The pipeline steps, `fonds reindex`, repairs, embargoes and takedowns all use these functions.
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
"""Maximum number of characters of earlier versions that a story's index document includes."""
WORD_MAX_CHARS = 100


@dataclass(frozen=True, slots=True)
class EarlierText:
    """Earlier version of a story, which was captured before the current version.

    - `sha1hex`: SHA-1 of the version's file.
    - `captured`: time of the capture in UTC, 14 digits (YYYYMMDDhhmmss).
    - `title`: title of the version; None if it has none.
    - `text`: SHA-256 of the version's text. If it is not recorded, a substitute that is different
      for each file. None if a later version has the same text.
    - `updated`: time at which the row of the version was written.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str | None
    updated: datetime


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """Derivative row from which an index document is built, with the earlier versions that it
    includes.

    - `row`: derivative row of the file; of the current version if the document is about a story.
    - `earlier`: earlier versions of the story, newest first.
    - `omitted_count`: number of earlier versions that the document does not include.

    Two equal values build the same document.
    """

    row: Any
    earlier: tuple[EarlierText, ...] = ()
    omitted_count: int = 0

    @property
    def sha1hex(self) -> str:
        """SHA-1 of the file that `row` describes."""
        sha1hex: str = self.row.sha1hex
        return sha1hex


def _list_only_versions(records: Records, ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {id_: (id_,) for id_ in ids}


@dataclass(frozen=True, slots=True)
class IndexedKind:
    """How index documents of a derivative kind are built.

    - `row_filter`: query condition for the derivative rows that may have a document.
    - `get_id`: function that returns the document id of a row.
    - `load_current`: function that loads the rows from which the documents with given ids must be
      built now. Ids without a document are omitted.
    - `has_text`: function that returns whether a text may be stored for the file of a row.
    - `document`: function that builds a document from a row, its text and its origin.
    - `versions`: function that returns the SHA-1s of the files from which each document may be
      built, by document id. The file of the current version is last.
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
    """Build the `load_current` function of an `IndexedKind` without versions, from a function that
    loads rows by document id.
    """
    return lambda records, ids: {id_: CurrentRow(row) for id_, row in rows(records, ids).items()}


def iter_index_documents(
    kind: IndexedKind,
    records: Records,
    blobs: Blobs,
    current: Sequence[CurrentRow],
    loaded_files: Mapping[str, tuple[bytes, DocumentOrigin]] = MappingProxyType({}),
    textless: list[str] | None = None,
) -> Iterator[IndexDocument]:
    """Build index documents with their texts from derivative rows, and yield one at a time.

    The documents do not have the rights of the files yet.

    - `current`: derivative rows from which the documents are built.
    - `loaded_files`: text and origin of files that are in memory already, by SHA-1.
    - `textless`: list to which the SHA-1s of files whose text is missing are appended.
    """
    keys = [row_versions.row.sha1hex for row_versions in current]
    origins = find_origins(records, [key for key in keys if key not in loaded_files])

    def text_of_file(sha1hex: str) -> bytes | None:
        if sha1hex in loaded_files:
            return loaded_files[sha1hex][0]
        blob = blobs.get(build_text_blob_key(sha1hex))
        if blob is None and textless is not None:
            textless.append(sha1hex)
        return blob

    for row_versions, key in zip(current, keys, strict=True):
        text = text_of_file(key) if kind.has_text(row_versions.row) else None
        origin = loaded_files[key][1] if key in loaded_files else origins.get(key, UNKNOWN)
        yield add_earlier_texts(
            kind.document(row_versions.row, text, origin), row_versions, text_of_file
        )


def add_earlier_texts(
    document: IndexDocument, current: CurrentRow, text_of_file: Callable[[str], bytes | None]
) -> IndexDocument:
    """Return an index document with the earlier versions of its story, and their texts as far as
    they fit.

    - `current`: row of the document, with the earlier versions.
    - `text_of_file`: function that returns the text of a file by SHA-1.

    The earlier texts have at most `EARLIER_MAX_CHARS` characters in total. The first text that does
    not fit is cut between words, and the texts after it are omitted.
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
    """Return at most `max_chars` characters of a text, without a partial last word.

    A last word of more than 100 characters is cut.
    """
    if len(text) <= max_chars:
        return text
    beginning = text[:max_chars]
    end = max(beginning.rfind(blank, len(beginning) - WORD_MAX_CHARS) for blank in " \n")
    return beginning if end < 0 or text[max_chars].isspace() else beginning[:end]
