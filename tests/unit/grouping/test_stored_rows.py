"""The rows have the documented layout, read without any code of Fonds."""

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


def read_rows(file: Path, table: str) -> dict[bytes, dict[str, bytes]]:
    """Read a table with SQL only."""
    query = (
        "SELECT key, cells.name, value FROM cells JOIN tables USING (number) WHERE tables.name = ?"
    )
    rows: dict[bytes, dict[str, bytes]] = {}
    with closing(sqlite3.connect(file)) as connection:
        for key, name, value in connection.execute(query, (table,)):
            rows.setdefault(key, {})[name] = value
    return rows


def test_rows_have_the_layout_of_the_three_tables(store: CollectionStore, tmp_path: Path) -> None:
    store.writer.put(NEWS, [*themed_documents(100), Document("tiny", "x")])
    rebuilt = rebuild(store.writer, NEWS)
    store.writer.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    file = tmp_path / "table.sqlite"
    time = str(rebuilt.timestamp).encode()

    documents = read_rows(file, "documents")
    assert len(documents) == 102
    document_cells = documents[b"news\x00\x012026-11\x00\x01later\x00\x01"]
    assert document_cells["main:namespace"] == b"news"
    assert document_cells["main:collection_key"] == b"2026-11"
    assert document_cells["main:id"] == document_cells["processing:id"] == b"later"
    assert document_cells["main:text"] == b"violin concerto conductor symphony cello"

    collections = read_rows(file, "collections")
    (row,) = collections.values()
    assert list(collections) == [b"news\x00\x012026-11\x00\x01"]
    assert row["main:size"] == b"102"
    assert int(row["main:modified"]) > rebuilt.timestamp
    assert row["main:configuration:DEFAULT:rebuilt"] == time
    assert int(row["main:configuration:DEFAULT:processed"]) > rebuilt.timestamp
    dictionary = decode_dictionary([row["processing:dictionary"]])
    postings = decode_postings([row["processing:index"]])

    assert dictionary.version == rebuilt.timestamp == postings[0].version
    features = decode_idf_vector(document_cells["processing:vector_idf"])
    weights = decode_tfidf_vector(document_cells["processing:vector_tfidf"])
    assert features.version == weights.version == rebuilt.timestamp
    assert {dictionary.terms[at] for at in features.features.tolist()} >= {"violin", "cello"}

    prefix = build_clustering_prefix("news", "2026-11", "DEFAULT", rebuilt.timestamp)
    clusters = {k: v for k, v in read_rows(file, "clusters").items() if k.startswith(prefix)}
    assert len(clusters) == rebuilt.clusters
    member_of = document_cells["main:member_of"].decode()
    cluster_cells = clusters[
        build_cluster_row("news", "2026-11", "DEFAULT", rebuilt.timestamp, member_of)
    ]
    assert cluster_cells["main:label"].decode() == member_of
    assert cluster_cells["main:timestamp"] == time
    assert 0 < float(cluster_cells["documents:later"]) <= 1
    for cells in clusters.values():
        ids = [name for name in cells if name.startswith("documents:")]
        assert cells["main:size"] == str(len(ids)).encode()
    assert sum(int(cells["main:size"]) for cells in clusters.values()) == 101
    assert documents[b"news\x00\x012026-11\x00\x01tiny\x00\x01"]["main:member_of"] == b""


LABELS = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.lists(st.tuples(st.floats(0, 1), LABELS.filter(bool)), max_size=20), LABELS)
def test_member_rows_sort_by_score(drawn: list[tuple[float, str]], label: str) -> None:
    def build_key(score: float, id_: str) -> bytes:
        return build_member_row(
            CollectionName("n", "k"), "DEFAULT", 7, label, format_score(score), id_
        )

    by_key = sorted(drawn, key=lambda member: build_key(*member))
    sort_keys = [(-float(format_score(score)), id_.encode()) for score, id_ in by_key]
    assert sort_keys == sorted(sort_keys)
    prefix = build_cluster_row("n", "k", "DEFAULT", 7, label)
    assert all(build_key(*drawn_member).startswith(prefix) for drawn_member in drawn)
