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
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs, Records

EARLIER_MAX_CHARS = 1_000_000
"""Maximum number of characters of earlier versions that a story's index document includes."""
WORD_MAX_CHARS = 100
"""Characters at the end of a cut text in which a space is searched, so as not to cut a word."""


@dataclass(frozen=True, slots=True)
class EarlierText:
    """Earlier version of a story, which was captured before the current version.

    - `sha1hex`: SHA-1 of the version's file.
    - `datetime14`: time of the capture in UTC, 14 digits (YYYYMMDDhhmmss).
    - `title`: title of the version; None if it has none.
    - `text_key`: SHA-256 of the version's text. If it is not recorded, a substitute that is
      different for each file. None if a later version has the same text.
    - `updated_at`: time at which the row of the version was written.
    """

    sha1hex: str
    datetime14: str
    title: str | None
    text_key: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """Derivative row from which an index document is built, with the earlier versions that it
    includes.

    - `row`: derivative row of the file; of the current version if the document is about a story.
    - `earlier_versions`: earlier versions of the story, newest first.
    - `omitted_count`: number of earlier versions that the document does not include.

    Two equal values build the same document.
    """

    row: DerivativeRow
    earlier_versions: tuple[EarlierText, ...] = ()
    omitted_count: int = 0

    @property
    def sha1hex(self) -> str:
        """SHA-1 of the file that `row` describes."""
        return self.row.sha1hex


def _list_single_files(records: Records, ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {id_: (id_,) for id_ in ids}


@dataclass(frozen=True, slots=True)
class IndexedKind:
    """How index documents of a derivative kind are built.

    - `row_filter`: query condition for the derivative rows that may have a document.
    - `id_column`: column of the derivative rows that has the document id.
    - `load_current`: function that loads the rows from which the documents with given ids must be
      built now. Ids without a document are omitted.
    - `has_text`: function that returns whether a text may be stored for the file of a row.
    - `build_document`: function that builds a document from a row, its text and its origin.
    - `list_versions`: function that returns the SHA-1s of the files from which each document may be
      built, by document id. The file of the current version is last.
    """

    row_filter: Mapping[str, object]
    id_column: str
    load_current: Callable[[Records, Sequence[str]], Mapping[str, CurrentRow]]
    has_text: Callable[[Any], bool]
    build_document: Callable[[Any, bytes | None, DocumentOrigin], IndexDocument]
    list_versions: Callable[[Records, Sequence[str]], Mapping[str, Sequence[str]]] = (
        _list_single_files
    )

    def get_id(self, row: DerivativeRow) -> str:
        """Return the document id of a row."""
        id_: str = getattr(row, self.id_column)
        return id_


def build_row_loader(
    find_rows: Callable[[Records, Sequence[str]], Mapping[str, DerivativeRow]],
) -> Callable[[Records, Sequence[str]], Mapping[str, CurrentRow]]:
    """Build the `load_current` function of an `IndexedKind` without versions, from a function that
    finds rows by document id.
    """
    return lambda records, ids: {
        id_: CurrentRow(row) for id_, row in find_rows(records, ids).items()
    }


def iter_index_documents(
    kind: IndexedKind,
    records: Records,
    blobs: Blobs,
    current_rows: Sequence[CurrentRow],
    loaded_files: Mapping[str, tuple[bytes, DocumentOrigin]] = MappingProxyType({}),
    textless_files: list[str] | None = None,
) -> Iterator[IndexDocument]:
    """Build index documents with their texts from derivative rows, and yield one at a time.

    The documents do not have the rights of the files yet.

    - `current_rows`: derivative rows from which the documents are built.
    - `loaded_files`: text and origin of files that are in memory already, by SHA-1.
    - `textless_files`: list to which the SHA-1s of files whose text is missing are appended.
    """
    sha1hexes = [current_row.sha1hex for current_row in current_rows]
    origins = find_origins(
        records, [sha1hex for sha1hex in sha1hexes if sha1hex not in loaded_files]
    )

    def get_text(sha1hex: str) -> bytes | None:
        if sha1hex in loaded_files:
            return loaded_files[sha1hex][0]
        blob = blobs.get(build_text_blob_key(sha1hex))
        if blob is None and textless_files is not None:
            textless_files.append(sha1hex)
        return blob

    for current_row, sha1hex in zip(current_rows, sha1hexes, strict=True):
        text = get_text(sha1hex) if kind.has_text(current_row.row) else None
        is_loaded = sha1hex in loaded_files
        origin = loaded_files[sha1hex][1] if is_loaded else origins.get(sha1hex, UNKNOWN)
        document = kind.build_document(current_row.row, text, origin)
        yield add_earlier_texts(document, current_row, get_text)


def add_earlier_texts(
    document: IndexDocument, current_row: CurrentRow, get_text: Callable[[str], bytes | None]
) -> IndexDocument:
    """Return an index document with the earlier versions of its story, and their texts as far as
    they fit.

    - `current_row`: row of the document, with the earlier versions.
    - `get_text`: function that returns the text of a file by SHA-1.

    The earlier texts have at most `EARLIER_MAX_CHARS` characters in total. The first text that does
    not fit is cut, between words if possible, and the texts after it are omitted. The cut and
    omitted texts are counted in `earlier_left_out`, in addition to `omitted_count` of the row.
    """
    chars_left, omitted_count = EARLIER_MAX_CHARS, current_row.omitted_count
    earlier_versions = []
    for version in current_row.earlier_versions:
        text = ""
        if version.text_key is not None and chars_left:
            full_text = decode_blob_text(get_text(version.sha1hex))
            text = _shorten(full_text, chars_left)
            chars_left = chars_left - len(text) if text == full_text else 0
            omitted_count += text != full_text
        elif version.text_key is not None:
            omitted_count += 1
        earlier_versions.append(
            EarlierVersion(version.sha1hex, version.datetime14, version.title, text)
        )
    return replace(document, earlier=tuple(earlier_versions), earlier_left_out=omitted_count)


def _shorten(text: str, max_chars: int) -> str:
    """Return at most `max_chars` characters of a text, without a partial last word.

    The partial word is kept if `WORD_MAX_CHARS` or more of its characters fit.
    """
    if len(text) <= max_chars:
        return text
    beginning = text[:max_chars]
    end = max(beginning.rfind(blank, len(beginning) - WORD_MAX_CHARS) for blank in " \n")
    return beginning if end < 0 or text[max_chars].isspace() else beginning[:end]
