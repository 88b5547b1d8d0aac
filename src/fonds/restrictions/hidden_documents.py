"""Documents of collections that lie aside while their file is under embargo.

They are taken out as if they were deleted, so that members, sizes and middles of clusters are those of a
collection without them; as they stood they lie in a blob, which is written before anything is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from fonds.derivatives.kinds import indexed_kinds
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import COLUMNS, Document, parse_document
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import COLLECTIONS, DOCUMENTS, Tables, is_collection_row
from fonds.grouping.views.documents import iter_holders
from fonds.model.archive import Blob
from fonds.model.encoding import prepare_type
from fonds.model.keys import build_embargoed_blob_key
from fonds.ports import Blobs, Records
from fonds.restrictions.traces import find_holding_collections


@dataclass(frozen=True, slots=True)
class WithheldDocument:
    """A document and the collection it was in."""

    namespace: str
    key: str
    document: Document

    @property
    def place(self) -> tuple[CollectionName, str]:
        """Which document of which collection this is."""
        return CollectionName(self.namespace, self.key), self.document.id


@dataclass(frozen=True, slots=True)
class WithheldDocuments:
    """All that lies aside of one file."""

    documents: Sequence[WithheldDocument] = ()


def list_document_ids(records: Records, sha1hex: str) -> list[str]:
    """The ids a file's documents may have; a story's also where another version of it is shown."""
    found = [sha1hex]
    for kind, one in indexed_kinds():
        found += [one.get_id(row) for row in records.find(kind.row, {"sha1hex": sha1hex})]
    return list(dict.fromkeys(found))


def withhold_documents(
    changes: CollectionWriter, blobs: Blobs, records: Records, sha1hex: str
) -> int:
    """Take a file's documents out of all collections; how many. Again is harmless, wherever it was left."""
    ids = list_document_ids(records, sha1hex)
    names = find_holding_collections(changes.tables, ids)
    if not names:
        return 0
    before = {one.place: one for one in _load_aside(blobs, sha1hex).documents}
    for name in names:
        for document in _load_documents(changes.tables, name, ids):
            before[name, document.id] = WithheldDocument(name.namespace, name.key, document)
    whole = msgspec.json.encode(WithheldDocuments(list(before.values())))
    blobs.put([Blob(build_embargoed_blob_key(sha1hex), whole, "application/json")])
    return sum(changes.delete(name, ids) for name in names)


def restore_documents(changes: CollectionWriter, blobs: Blobs, sha1hex: str) -> int:
    """Put a file's documents back into the collections there still are, but where a newer one stands; how
    many. Again is harmless."""
    count = 0
    for one in _load_aside(blobs, sha1hex).documents:
        name, id_ = one.place
        there = is_collection_row(changes.tables.get_row(COLLECTIONS, name.row, ["main:"]))
        if there and not list(iter_holders(changes.tables, [name], id_)):
            changes.put(name, [one.document])
            count += 1
    blobs.delete([build_embargoed_blob_key(sha1hex)])
    return count


def _load_aside(blobs: Blobs, sha1hex: str) -> WithheldDocuments:
    found = blobs.get(build_embargoed_blob_key(sha1hex))
    return (
        WithheldDocuments()
        if found is None
        else msgspec.json.decode(found, type=prepare_type(WithheldDocuments))
    )


def _load_documents(tables: Tables, name: CollectionName, ids: Sequence[str]) -> list[Document]:
    rows = tables.get_rows(DOCUMENTS, [name.build_document_row(id_) for id_ in ids], COLUMNS)
    return [parse_document(cells).document for cells in rows.values()]
