"""Documents that are withheld from collections while their file is under embargo.

They are deleted from the collections, so that members, sizes and centroids of clusters are those of
a collection without them. A blob keeps the documents unchanged. The blob is written before anything
is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from fonds.derivatives.kinds import indexed_kinds
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.columns import MAIN_FAMILY
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
    """Document that is withheld from a collection while its file is under embargo.

    - `namespace`, `key`: name of the collection from which the document was deleted.
    - `document`: the document, unchanged.
    """

    namespace: str
    key: str
    document: Document

    @property
    def place(self) -> tuple[CollectionName, str]:
        """Position of the document: name of its collection, and id of the document."""
        return CollectionName(self.namespace, self.key), self.document.id


@dataclass(frozen=True, slots=True)
class WithheldDocuments:
    """All documents of one file that are withheld from collections."""

    documents: Sequence[WithheldDocument] = ()


def list_document_ids(records: Records, sha1hex: str) -> list[str]:
    """Return the ids of all documents that may contain a file, including stories whose document
    shows another version.
    """
    ids = [sha1hex]
    for kind, indexed_kind in indexed_kinds():
        ids += [indexed_kind.get_id(row) for row in records.find(kind.row, {"sha1hex": sha1hex})]
    return list(dict.fromkeys(ids))


def withhold_documents(
    collection_writer: CollectionWriter, blobs: Blobs, records: Records, sha1hex: str
) -> int:
    """Withhold the documents of a file from all collections. Return the number of documents.

    The documents are saved in a blob and then deleted from the collections. The call may be
    repeated, also after an interruption.
    """
    ids = list_document_ids(records, sha1hex)
    names = find_holding_collections(collection_writer.tables, ids)
    if not names:
        return 0
    withheld = {
        document_entry.place: document_entry
        for document_entry in _load_withheld(blobs, sha1hex).documents
    }
    for name in names:
        for document in _load_documents(collection_writer.tables, name, ids):
            withheld[name, document.id] = WithheldDocument(name.namespace, name.key, document)
    encoded_documents = msgspec.json.encode(WithheldDocuments(list(withheld.values())))
    blobs.put([Blob(build_embargoed_blob_key(sha1hex), encoded_documents, "application/json")])
    return sum(collection_writer.delete(name, ids) for name in names)


def restore_documents(collection_writer: CollectionWriter, blobs: Blobs, sha1hex: str) -> int:
    """Restore the withheld documents of a file to those collections that still exist.

    Return the number of restored documents. If a collection has a newer document with the same id,
    it keeps the newer one. The call may be repeated.
    """
    count = 0
    for withheld in _load_withheld(blobs, sha1hex).documents:
        name, id_ = withheld.place
        exists = is_collection_row(
            collection_writer.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY])
        )
        if exists and not list(iter_holders(collection_writer.tables, [name], id_)):
            collection_writer.put(name, [withheld.document])
            count += 1
    blobs.delete([build_embargoed_blob_key(sha1hex)])
    return count


def _load_withheld(blobs: Blobs, sha1hex: str) -> WithheldDocuments:
    blob = blobs.get(build_embargoed_blob_key(sha1hex))
    return (
        WithheldDocuments()
        if blob is None
        else msgspec.json.decode(blob, type=prepare_type(WithheldDocuments))
    )


def _load_documents(tables: Tables, name: CollectionName, ids: Sequence[str]) -> list[Document]:
    rows = tables.get_rows(DOCUMENTS, [name.build_document_row(id_) for id_ in ids], COLUMNS)
    return [parse_document(cells).document for cells in rows.values()]
