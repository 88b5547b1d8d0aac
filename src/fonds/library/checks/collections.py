"""Collections: sizes, clusterings, and documents' places and vectors against each other."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.collections.changing.writing import Changes
from fonds.collections.reading.clusterings import collections as every
from fonds.library.checks.fault import Check, Fault


def collections(changes: Changes) -> Iterator[Fault]:
    """The damages of every collection; its subject is NAMESPACE/KEY. Arithmetic is loaded
    when there is one."""
    from fonds.collections.checking.checking import damages

    for one in every(changes.tables):
        for damage in damages(changes, one.name):
            yield Fault(Check.COLLECTION, str(one.name), f"collection {one.name}: {damage.told}")
