"""What the index has of a kind: which rows documents are made of, and how.

One function makes documents, for the steps, for `fonds reindex`, for repair, embargoes and takedowns.
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
"""So many characters of earlier versions a document carries."""
WORD_MAX_CHARS = 100


@dataclass(frozen=True, slots=True)
class EarlierText:
    """A version captured before the one a document is made of, by SHA-1. `captured` has 14 digits.

    `text` names the text (its SHA-256, or what stands for that), None where a later version has the same.
    `updated` is when the version was written.
    """

    sha1hex: str
    captured: str
    title: str | None
    text: str | None
    updated: datetime


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """The row a document is made of, and the earlier versions whose texts it carries, the newest first;
    `omitted_count` counts those there are besides. Two are equal when they make the same document."""

    row: Any
    earlier: tuple[EarlierText, ...] = ()
    omitted_count: int = 0

    @property
    def sha1hex(self) -> str:
        """The SHA-1 of the row's file."""
        sha1hex: str = self.row.sha1hex
        return sha1hex


def _list_only_versions(records: Records, ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {one: (one,) for one in ids}


@dataclass(frozen=True, slots=True)
class IndexedKind:
    """What the index has of a kind.

    `row_filter` selects the rows that may have a document, `get_id` is the id of a row's. `load_current`
    gives, of these ids, what documents are to be made of, by id; the others have none. `has_text` says
    whether a text may lie in the blobs, and `document` makes one of row, text and origin. `versions`
    gives, by the id of a document, the SHA-1s of the files it may be made of, the one it is made of last.
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
    """The `current` of a kind whose files are no versions of each other, from that which gives its rows."""
    return lambda records, ids: {id_: CurrentRow(row) for id_, row in rows(records, ids).items()}


def iter_index_documents(
    kind: IndexedKind,
    records: Records,
    blobs: Blobs,
    current: Sequence[CurrentRow],
    loaded: Mapping[str, tuple[bytes, DocumentOrigin]] = MappingProxyType({}),
    textless: list[str] | None = None,
) -> Iterator[IndexDocument]:
    """The documents of these rows with their texts, one at a time, without what is stated of their files.

    `loaded` has text and origin of files that are in hand. Files whose text should lie in the blobs and does
    not are added to `textless`.
    """
    keys = [each.row.sha1hex for each in current]
    came = find_origins(records, [key for key in keys if key not in loaded])

    def text_of_file(sha1hex: str) -> bytes | None:
        if sha1hex in loaded:
            return loaded[sha1hex][0]
        blob = blobs.get(build_text_blob_key(sha1hex))
        if blob is None and textless is not None:
            textless.append(sha1hex)
        return blob

    for each, key in zip(current, keys, strict=True):
        text = text_of_file(key) if kind.has_text(each.row) else None
        origin = loaded[key][1] if key in loaded else came.get(key, UNKNOWN)
        yield add_earlier_texts(kind.document(each.row, text, origin), each, text_of_file)


def add_earlier_texts(
    document: IndexDocument, current: CurrentRow, text_of_file: Callable[[str], bytes | None]
) -> IndexDocument:
    """The document with the texts of its earlier versions, as far as they fit: a text that is too long is cut
    between words, and those behind it are left out. Texts are asked for by SHA-1."""
    left, cut = EARLIER_MAX_CHARS, current.omitted_count
    earlier = []
    for one in current.earlier:
        text = ""
        if one.text is not None and left:
            whole = decode_blob_text(text_of_file(one.sha1hex))
            text = _shorten(whole, left)
            left = left - len(text) if text == whole else 0
            cut += text != whole
        elif one.text is not None:
            cut += 1
        earlier.append(EarlierVersion(one.sha1hex, one.captured, one.title, text))
    return replace(document, earlier=tuple(earlier), earlier_left_out=cut)


def _shorten(text: str, max_chars: int) -> str:
    """The beginning of a text, without the word that would be cut in two."""
    if len(text) <= max_chars:
        return text
    begun = text[:max_chars]
    at = max(begun.rfind(blank, len(begun) - WORD_MAX_CHARS) for blank in " \n")
    return begun if at < 0 or text[max_chars].isspace() else begun[:at]
