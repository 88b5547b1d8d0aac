"""What somebody pasted into the search box, when it names a file: URL, SHA-1, story id, DOI or file name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from urllib.parse import quote

from fonds.address import file_name
from fonds.bibliography.identifiers.doi import doi_alone
from fonds.kinds import kinds_with_rows
from fonds.library.description import resolve
from fonds.model.document import IndexDocument, SearchQuery
from fonds.model.keys import sha1_from_text
from fonds.model.rows import FileMetaRow
from fonds.model.rows.row import Prefix
from fonds.ports import Index, Stores

THINGS_MAX = 10
NAMES_LOOKED_MAX = 100
KEY_CHARACTERS_MAX = 2_000
SHORT_SHA1_MIN = 8
_TOO_SHORT = re.compile(rf"[0-9a-f]{{4,{SHORT_SHA1_MIN - 1}}}")
_SHORT_SHA1 = re.compile(rf"[0-9a-f]{{{SHORT_SHA1_MIN},39}}")
_STORY_ID = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_FILE_NAME = re.compile(r'[^/\\"]{1,200}\.[a-z0-9]{2,5}', re.IGNORECASE)


class Named(StrEnum):
    """What a key was taken for; closed."""

    SHA1 = "sha1"
    SHORT_SHA1 = "short sha1"
    STORY_ID = "story id"
    URL = "url"
    DOI = "doi"
    FILE_NAME = "file name"


@dataclass(frozen=True, slots=True)
class Direct:
    """A file a key leads to. `title`, `url` and `kind` are those of its document, None where it has none."""

    named: Named
    sha1hex: str
    title: str | None
    url: str | None
    kind: str | None


def too_short(key: str) -> str | None:
    """What is told of a key that may be the beginning of a SHA-1, and is too short for one; else None."""
    if not _TOO_SHORT.fullmatch(key.strip().lower()):
        return None
    return f"of a SHA-1 at least the first {SHORT_SHA1_MIN} characters are needed"


def readings(text: str) -> list[Named]:
    """What a text may be the name of; nothing is asked for it."""
    key = text.strip()
    if not key or len(key) > KEY_CHARACTERS_MAX:
        return []
    found = []
    if sha1_from_text(key) is not None:
        found.append(Named.SHA1)
    elif _SHORT_SHA1.fullmatch(key.lower()):
        found.append(Named.SHORT_SHA1)
    if _STORY_ID.fullmatch(key):
        found.append(Named.STORY_ID)
    if doi_alone(key) is not None:
        found.append(Named.DOI)
    if _URL.fullmatch(key):
        found.append(Named.URL)
    if _FILE_NAME.fullmatch(key):
        found.append(Named.FILE_NAME)
    return found


def direct(stores: Stores, text: str) -> list[Direct]:
    """The files a text names, each once, at most ten; empty for what is no name, or of nothing here."""
    key = text.strip()
    seen: dict[str, Direct] = {}
    for named in readings(text):
        for one in _found(stores, named, key):
            seen.setdefault(one.sha1hex, one)
    return list(seen.values())[:THINGS_MAX]


def _found(stores: Stores, named: Named, key: str) -> Sequence[Direct]:
    if named is Named.FILE_NAME:
        return [_of_document(named, one) for one in _with_file_name(stores.index, key)]
    if named is Named.DOI:
        doi = doi_alone(key) or ""
        asked = f'doi:"{doi.rstrip(".,;")}"' if doi and '"' not in doi else ""
        return [_of_document(named, one) for one in _documents(stores.index, asked, THINGS_MAX)]
    if named is Named.SHORT_SHA1:
        rows = stores.records.find(
            FileMetaRow, {"sha1hex": Prefix(key.lower())}, count_max=THINGS_MAX
        )
        return _of_files(stores, named, [row.sha1hex for row in rows])
    files = resolve(stores, key).files[:THINGS_MAX]
    known = {row.sha1hex for row in stores.records.get(FileMetaRow, files)}
    return _of_files(stores, named, [sha1hex for sha1hex in files if sha1hex in known])


def _with_file_name(index: Index, name: str) -> Iterator[IndexDocument]:
    """Documents whose address ends in this name; of a name many have, those among the first hundred."""
    wanted = name.casefold()
    for asked in dict.fromkeys((name, quote(name))):
        for one in _documents(index, f'url:"{asked}"', NAMES_LOOKED_MAX):
            if file_name(one.url).casefold() == wanted:
                yield one


def _documents(index: Index, text: str, count_max: int) -> list[IndexDocument]:
    """What a query finds; nothing for one that cannot be understood."""
    if not text:
        return []
    try:
        hits = index.search(SearchQuery(text, count_max=count_max)).hits
    except ValueError:
        return []
    return [hit.document for hit in hits]


def _of_document(named: Named, one: IndexDocument) -> Direct:
    return Direct(named, one.sha1hex, one.article_title, one.url, str(one.kind))


def _of_files(stores: Stores, named: Named, sha1hexes: Sequence[str]) -> list[Direct]:
    documents = documents_of(stores, sha1hexes)
    return [
        _of_document(named, documents[key])
        if key in documents
        else Direct(named, key, None, None, None)
        for key in sha1hexes
    ]


def documents_of(stores: Stores, sha1hexes: Sequence[str]) -> Mapping[str, IndexDocument]:
    """The documents made of these very files, by SHA-1."""
    ids = {
        kind.indexed.id_of(row)
        for kind in kinds_with_rows()
        if kind.indexed is not None
        for row in stores.records.get(kind.row, sha1hexes)
    }
    found = stores.index.get(sorted(islice(ids, 2 * len(sha1hexes)))) if ids else {}
    return {one.sha1hex: one for one in found.values()}
