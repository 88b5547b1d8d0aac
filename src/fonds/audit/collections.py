"""Audit of collections: sizes, clusterings, and documents' assignments and vectors against each other."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.audit.fault import AuditCheck, AuditFault
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.views.clusterings import iter_collections as every


def check_collections(changes: CollectionWriter) -> Iterator[AuditFault]:
    """The damages of every collection; its subject is NAMESPACE/KEY. Arithmetic is loaded
    when there is one."""
    from fonds.grouping.checks.check import find_damages

    for one in every(changes.tables):
        for damage in find_damages(changes, one.name):
            yield AuditFault(
                AuditCheck.COLLECTION, str(one.name), f"collection {one.name}: {damage.message}"
            )
