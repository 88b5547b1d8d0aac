"""Documents of collections that lie aside while their file is under embargo.

They are taken out as if they were deleted, so that members, sizes and middles of clusters are those of a
collection without them; as they stood they lie in a blob, which is written before anything is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from fonds.collections.changing.writing import Changes
from fonds.collections.documents import COLUMNS, Document, document_of
from fonds.collections.names import Name
from fonds.collections.reading.documents import holding
from fonds.collections.tables import COLLECTIONS, DOCUMENTS, Tables, is_there
from fonds.kinds import indexed_kinds
from fonds.library.tracing.traces import holders
from fonds.model.blob import Blob
from fonds.model.keys import aside_blob_key
from fonds.model.prepared import prepared
from fonds.ports import Blobs, Records


@dataclass(frozen=True, slots=True)
class SetAside:
    """A document and the collection it was in."""

    namespace: str
    key: str
    document: Document

    @property
    def place(self) -> tuple[Name, str]:
        """Which document of which collection this is."""
        return Name(self.namespace, self.key), self.document.id


@dataclass(frozen=True, slots=True)
class Aside:
    """All that lies aside of one file."""

    documents: Sequence[SetAside] = ()


def ids_of(records: Records, sha1hex: str) -> list[str]:
    """The ids a file's documents may have; a story's also where another version of it is shown."""
    found = [sha1hex]
    for kind, one in indexed_kinds():
        found += [one.id_of(row) for row in records.find(kind.row, {"sha1hex": sha1hex})]
    return list(dict.fromkeys(found))


def put_aside(changes: Changes, blobs: Blobs, records: Records, sha1hex: str) -> int:
    """Take a file's documents out of all collections; how many. Again is harmless, wherever it was left."""
    ids = ids_of(records, sha1hex)
    names = holders(changes.tables, ids)
    if not names:
        return 0
    before = {one.place: one for one in _aside(blobs, sha1hex).documents}
    for name in names:
        for document in _documents(changes.tables, name, ids):
            before[name, document.id] = SetAside(name.namespace, name.key, document)
    whole = msgspec.json.encode(Aside(list(before.values())))
    blobs.put([Blob(aside_blob_key(sha1hex), whole, "application/json")])
    return sum(changes.delete(name, ids) for name in names)


def put_back(changes: Changes, blobs: Blobs, sha1hex: str) -> int:
    """Put a file's documents back into the collections there still are, but where a newer one stands; how
    many. Again is harmless."""
    count = 0
    for one in _aside(blobs, sha1hex).documents:
        name, id_ = one.place
        there = is_there(changes.tables.row(COLLECTIONS, name.row, ["main:"]))
        if there and not list(holding(changes.tables, [name], id_)):
            changes.put(name, [one.document])
            count += 1
    blobs.delete([aside_blob_key(sha1hex)])
    return count


def _aside(blobs: Blobs, sha1hex: str) -> Aside:
    found = blobs.get(aside_blob_key(sha1hex))
    return Aside() if found is None else msgspec.json.decode(found, type=prepared(Aside))


def _documents(tables: Tables, name: Name, ids: Sequence[str]) -> list[Document]:
    rows = tables.rows(DOCUMENTS, [name.document(id_) for id_ in ids], COLUMNS)
    return [document_of(cells).document for cells in rows.values()]
