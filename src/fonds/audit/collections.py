"""Audit of collections: document counts, clusterings, and the clusters and vectors of documents."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.audit.fault import AuditCheck, AuditFault
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.views.clusterings import iter_collections as every


def check_collections(collection_writer: CollectionWriter) -> Iterator[AuditFault]:
    """Check every collection and yield its faults. The subject of a fault is NAMESPACE/KEY.

    The numerical libraries are imported on the first call, because they load slowly.
    """
    from fonds.grouping.checks.check import find_damages

    for collection in every(collection_writer.tables):
        try:
            messages = [
                damage.message for damage in find_damages(collection_writer, collection.name)
            ]
        except ValueError as error:
            messages = [f"a stored value cannot be read: {error}"]
        for message in messages:
            yield AuditFault(
                AuditCheck.COLLECTION,
                str(collection.name),
                f"collection {collection.name}: {message}",
            )
