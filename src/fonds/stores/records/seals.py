"""Seals: sums of the hashes of all rows of a table, by which the audit notices that a row was
changed, removed or added by another program.

Tables whose contents no other store confirms are sealed: keys, embargoes and sources, for example.
A seal is kept among the tallies. It changes in the same transaction as the rows.

A person who knows how seals are computed can change a row and its seal. `docs/audit.md` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.checksums import hash_row
from fonds.model.rows import ROWS, Row
from fonds.model.tallies import SEAL
from fonds.stores.records.counters import Group, build_group
from fonds.stores.records.row_statements import Key, load_rows
from fonds.stores.records.tables import get_table
from fonds.stores.records.tallies import add, load_tallies, lock_tallies

SEALED = frozenset(row for row in ROWS if getattr(row, "SEALED", False))
"""Types of the rows in sealed tables."""


def build_seal_group(kind: type[Row]) -> Group:
    """Return the key of the tally that is the seal of the table with rows of the type `kind`."""
    return build_group(SEAL, "", (kind.TABLE,))


@contextmanager
def update_seal(connection: Connection, kind: type[Row], keys: Sequence[Key]) -> Iterator[None]:
    """Context manager around a change of rows of the type `kind` with these primary keys. It
    updates the seal of their table.

    A table that is not sealed is left alone.
    """
    if kind not in SEALED or not keys:
        yield
        return
    lock_tallies(connection)
    before = _sum_hashes(load_rows(connection, kind, keys))
    yield
    after = _sum_hashes(load_rows(connection, kind, keys))
    add(connection, {build_seal_group(kind): after - before})


def compute_seals(connection: Connection, kinds: Iterable[type[Row]] = SEALED) -> Counter[Group]:
    """Return what the seals of tables should be, as tallies. Tables without rows have none."""
    seals: Counter[Group] = Counter()
    for kind in kinds:
        rows = connection.execute(sa.select(get_table(kind)))
        seals[build_seal_group(kind)] = _sum_hashes(kind(*row) for row in rows)
    return +seals


def renew_seal(connection: Connection, kind: type[Row]) -> None:
    """Seal a table with the rows that it has now. The caller must hold the lock of the tallies."""
    group = build_seal_group(kind)
    stored = load_tallies(connection).get(group, 0)
    add(connection, {group: compute_seals(connection, [kind])[group] - stored})


def _sum_hashes(rows: Iterable[Row]) -> int:
    return sum(map(hash_row, rows))
