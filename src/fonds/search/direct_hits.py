"""Find files that a search text names directly: by URL, SHA-1, story id, DOI or file name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from urllib.parse import quote

from fonds.model.document import IndexDocument
from fonds.model.keys import parse_sha1
from fonds.model.search import SearchQuery
from fonds.papers.bibliography.identifiers import parse_doi
from fonds.ports import Index, Stores
from fonds.urls.parts import file_name

DIRECT_HITS_MAX = 10
NAMES_SEARCHED_MAX = 100
KEY_MAX_CHARS = 2_000
SHORT_SHA1_MIN = 8
_TOO_SHORT = re.compile(rf"[0-9a-f]{{4,{SHORT_SHA1_MIN - 1}}}")
_SHORT_SHA1 = re.compile(rf"[0-9a-f]{{{SHORT_SHA1_MIN},39}}")
_STORY_ID = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_FILE_NAME = re.compile(r'[^/\\"]{1,200}\.[a-z0-9]{2,5}', re.IGNORECASE)


class Identifier(StrEnum):
    """Type of identifier that a search text can be: for example a URL or the SHA-1 of a file."""

    SHA1 = "sha1"
    SHORT_SHA1 = "short sha1"
    STORY_ID = "story id"
    URL = "url"
    DOI = "doi"
    FILE_NAME = "file name"


@dataclass(frozen=True, slots=True)
class DirectHit:
    """Stored file that a search text names, such as by its URL or SHA-1.

    - `named`: type of identifier by which the text names the file.
    - `sha1hex`: SHA-1 of the file.
    - `title`, `url`, `kind`: those of the file's document in the index; None if the index has no
      document of the file.
    """

    named: Identifier
    sha1hex: str
    title: str | None
    url: str | None
    kind: str | None


def explain_short_key(key: str) -> str | None:
    """Return a note for the user if a search text looks like the start of a SHA-1 but is too short.

    Returns None for any other text.
    """
    if not _TOO_SHORT.fullmatch(key.strip().lower()):
        return None
    return f"give at least the first {SHORT_SHA1_MIN} characters of a SHA-1"


def list_interpretations(text: str) -> list[Identifier]:
    """Return the types of identifier that a search text can be, judged by its syntax alone.

    The list is empty if the text looks like no identifier or is longer than `KEY_MAX_CHARS`.
    """
    key = text.strip()
    if not key or len(key) > KEY_MAX_CHARS:
        return []
    identifiers = []
    if parse_sha1(key) is not None:
        identifiers.append(Identifier.SHA1)
    elif _SHORT_SHA1.fullmatch(key.lower()):
        identifiers.append(Identifier.SHORT_SHA1)
    if _STORY_ID.fullmatch(key):
        identifiers.append(Identifier.STORY_ID)
    if parse_doi(key) is not None:
        identifiers.append(Identifier.DOI)
    if _URL.fullmatch(key):
        identifiers.append(Identifier.URL)
    if _FILE_NAME.fullmatch(key):
        identifiers.append(Identifier.FILE_NAME)
    return identifiers


def find_direct_hits(stores: Stores, text: str) -> list[DirectHit]:
    """Return the stored files that a search text names, such as by URL, each once, at most ten."""
    key = text.strip()
    hits: dict[str, DirectHit] = {}
    for identifier in list_interpretations(text):
        for hit in _find_by_kind(stores, identifier, key):
            hits.setdefault(hit.sha1hex, hit)
    return list(hits.values())[:DIRECT_HITS_MAX]


def _find_by_kind(stores: Stores, identifier: Identifier, key: str) -> Sequence[DirectHit]:
    if identifier is Identifier.FILE_NAME:
        return [
            _build_document_hit(identifier, named_document)
            for named_document in _iter_named_documents(stores.index, key)
        ]
    if identifier is Identifier.DOI:
        doi = parse_doi(key) or ""
        query = f'doi:"{doi.rstrip(".,;")}"' if doi and '"' not in doi else ""
        return [
            _build_document_hit(identifier, document)
            for document in _search_documents(stores.index, query, DIRECT_HITS_MAX)
        ]
    # Imported here because the row types are slow to import, and most searches name no file.
    from fonds.model.rows import FileMetaRow
    from fonds.model.rows.row import Prefix
    from fonds.viewer.file_keys import resolve

    if identifier is Identifier.SHORT_SHA1:
        rows = stores.records.find(
            FileMetaRow, {"sha1hex": Prefix(key.lower())}, count_max=DIRECT_HITS_MAX
        )
        return _build_file_hits(stores, identifier, [row.sha1hex for row in rows])
    files = resolve(stores, key).files[:DIRECT_HITS_MAX]
    recorded_sha1s = {row.sha1hex for row in stores.records.get(FileMetaRow, files)}
    return _build_file_hits(
        stores, identifier, [sha1hex for sha1hex in files if sha1hex in recorded_sha1s]
    )


def _iter_named_documents(index: Index, name: str) -> Iterator[IndexDocument]:
    """Yield the documents whose URL ends in the file name `name`. Upper and lower case are equal.

    Only the first `NAMES_SEARCHED_MAX` documents with the name in their URL are examined, and as
    many with the percent-encoded name if it differs.
    """
    folded_name = name.casefold()
    for url_name in dict.fromkeys((name, quote(name))):
        for document in _search_documents(index, f'url:"{url_name}"', NAMES_SEARCHED_MAX):
            if file_name(document.url).casefold() == folded_name:
                yield document


def _search_documents(index: Index, text: str, count_max: int) -> list[IndexDocument]:
    """Return the index documents that a query finds; an empty list if the query is invalid."""
    if not text:
        return []
    try:
        hits = index.search(SearchQuery(text, count_max=count_max)).hits
    except ValueError:
        return []
    return [hit.document for hit in hits]


def _build_document_hit(identifier: Identifier, document: IndexDocument) -> DirectHit:
    return DirectHit(
        identifier, document.sha1hex, document.article_title, document.url, str(document.kind)
    )


def _build_file_hits(
    stores: Stores, identifier: Identifier, sha1hexes: Sequence[str]
) -> list[DirectHit]:
    documents = load_file_documents(stores, sha1hexes)
    return [
        _build_document_hit(identifier, documents[key])
        if key in documents
        else DirectHit(identifier, key, None, None, None)
        for key in sha1hexes
    ]


def load_file_documents(stores: Stores, sha1hexes: Sequence[str]) -> Mapping[str, IndexDocument]:
    """Return the index documents of the given files, by SHA-1 of the document's file.

    An earlier version of a story has the document of the current version. Files without a document
    are omitted.
    """
    # Imported here because most searches name no file.
    from fonds.derivatives.kinds import iter_kinds_with_rows

    ids = {
        kind.indexed.get_id(row)
        for kind in iter_kinds_with_rows()
        if kind.indexed is not None
        for row in stores.records.get(kind.row, sha1hexes)
    }
    documents = stores.index.get(sorted(islice(ids, 2 * len(sha1hexes)))) if ids else {}
    return {document.sha1hex: document for document in documents.values()}
