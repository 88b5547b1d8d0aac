"""Audit of collections: document counts, clusterings, and the clusters and vectors of documents."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.audit.fault import AuditCheck, AuditFault
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.views.clusterings import iter_collections as every
from fonds.model.errors import DamagedRowError


def check_collections(collection_writer: CollectionWriter) -> Iterator[AuditFault]:
    """Check every collection and yield its faults. The subject of a fault is NAMESPACE/KEY.

    The numerical libraries are imported on the first call, because they load slowly.
    """
    from fonds.grouping.checks.check import find_damages
    from fonds.grouping.checks.unconfirmed_rows import iter_namespace_faults

    for collection in every(collection_writer.tables):
        try:
            damages = find_damages(collection_writer, collection.name)
        except (ValueError, DamagedRowError) as error:
            message = f"a stored value cannot be read: {error}"
            damages = [Damage(Remedy.BUILD, message)]
        for damage in damages:
            is_unconfirmed = damage.remedy is Remedy.ACCEPT
            yield AuditFault(
                AuditCheck.COLLECTION_ROW if is_unconfirmed else AuditCheck.COLLECTION,
                str(collection.name),
                f"collection {collection.name}: {damage.message}",
            )
    for name, message in iter_namespace_faults(collection_writer.tables):
        yield AuditFault(AuditCheck.COLLECTION_ROW, name, message)
