"""The rows are those of the layout, read by a client that knows nothing of Fonds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.dictionary import decode_dictionary
from fonds.grouping.stored.inverted_index import decode_postings
from fonds.grouping.stored.keys import build_cluster_row, build_clustering_prefix
from fonds.grouping.stored.vectors import decode_idf_vector, decode_tfidf_vector
from fonds.grouping.tables import build_member_row, format_score
from kept_collections import NEWS, CollectionStore, themed_documents


def _rows(file: Path, table: str) -> dict[bytes, dict[str, bytes]]:
    """All of a table, by SQL alone."""
    asked = (
        "SELECT key, cells.name, value FROM cells JOIN tables USING (number) WHERE tables.name = ?"
    )
    rows: dict[bytes, dict[str, bytes]] = {}
    with closing(sqlite3.connect(file)) as connection:
        for key, name, value in connection.execute(asked, (table,)):
            rows.setdefault(key, {})[name] = value
    return rows


def test_the_three_tables_are_those_of_the_layout(kept: CollectionStore, tmp_path: Path) -> None:
    kept.changes.put(NEWS, [*themed_documents(100), Document("tiny", "x")])
    made = rebuild(kept.changes, NEWS)
    kept.changes.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    file = tmp_path / "table.sqlite"
    time = str(made.timestamp).encode()

    documents = _rows(file, "documents")
    assert len(documents) == 102
    one = documents[b"news\x00\x012026-11\x00\x01later\x00\x01"]
    assert one["main:namespace"] == b"news"
    assert one["main:collection_key"] == b"2026-11"
    assert one["main:id"] == one["processing:id"] == b"later"
    assert one["main:text"] == b"violin concerto conductor symphony cello"

    collections = _rows(file, "collections")
    (row,) = collections.values()
    assert list(collections) == [b"news\x00\x012026-11\x00\x01"]
    assert row["main:size"] == b"102"
    assert int(row["main:modified"]) > made.timestamp
    assert row["main:configuration:DEFAULT:rebuilt"] == time
    assert int(row["main:configuration:DEFAULT:processed"]) > made.timestamp
    dictionary = decode_dictionary([row["processing:dictionary"]])
    postings = decode_postings([row["processing:index"]])

    assert dictionary.version == made.timestamp == postings[0].version
    features = decode_idf_vector(one["processing:vector_idf"])
    weights = decode_tfidf_vector(one["processing:vector_tfidf"])
    assert features.version == weights.version == made.timestamp
    assert {dictionary.terms[at] for at in features.features.tolist()} >= {"violin", "cello"}

    prefix = build_clustering_prefix("news", "2026-11", "DEFAULT", made.timestamp)
    clusters = {k: v for k, v in _rows(file, "clusters").items() if k.startswith(prefix)}
    assert len(clusters) == made.clusters
    member_of = one["main:member_of"].decode()
    mine = clusters[build_cluster_row("news", "2026-11", "DEFAULT", made.timestamp, member_of)]
    assert mine["main:label"].decode() == member_of
    assert mine["main:timestamp"] == time
    assert 0 < float(mine["documents:later"]) <= 1
    for cells in clusters.values():
        ids = [name for name in cells if name.startswith("documents:")]
        assert cells["main:size"] == str(len(ids)).encode()
    assert sum(int(cells["main:size"]) for cells in clusters.values()) == 101
    assert documents[b"news\x00\x012026-11\x00\x01tiny\x00\x01"]["main:member_of"] == b""


LABELS = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.lists(st.tuples(st.floats(0, 1), LABELS.filter(bool)), max_size=20), LABELS)
def test_members_are_in_the_order_of_their_scores(
    drawn: list[tuple[float, str]], label: str
) -> None:
    def key(score: float, id_: str) -> bytes:
        return build_member_row(
            CollectionName("n", "k"), "DEFAULT", 7, label, format_score(score), id_
        )

    by_key = sorted(drawn, key=lambda one: key(*one))
    told = [(-float(format_score(score)), id_.encode()) for score, id_ in by_key]
    assert told == sorted(told)
    prefix = build_cluster_row("n", "k", "DEFAULT", 7, label)
    assert all(key(*one).startswith(prefix) for one in drawn)
