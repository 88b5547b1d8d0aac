"""Count the documents of a search by theme.

The counts come from the stored assignments of documents to themes in the current clustering, not
from the index. After a rebuild of the clustering, they are new at once, without reindexing. Limit:
only the first 10,000 documents by id are counted; `ThemeCounts.looked_at` is the number counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from fonds.grouping.columns import Column
from fonds.grouping.names import DEFAULT, CollectionName, build_unclustered_conf, parse
from fonds.grouping.tables import ASSIGNMENTS, Tables, build_assignment_row, decode_text
from fonds.grouping.views.clusterings import find_served_timestamp, iter_collections
from fonds.grouping.views.curation import load_label_names
from fonds.model.search import SearchQuery, ThemeCounts
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Index
from fonds.search.scan import count_matches, iter_documents

DOCUMENTS_MAX = 10_000
NAMES_MAX = 1_000
_BATCH_SIZE = 500
_ATTEMPTS = 3


def count_themes(
    index: Index, tables: Tables, requested_name: str, query: SearchQuery
) -> ThemeCounts:
    """Count the documents of a search by the themes of the collection `requested_name`
    (NAMESPACE/KEY).

    Raises ValueError with a message for users if the search cannot be parsed, or if the collection
    is unknown or has no clustering yet.
    """
    name = _find_collection(tables, requested_name)
    matches = count_matches(index, query)
    ids = [
        document.id
        for document in islice(iter_documents(index, matches.query, DOCUMENTS_MAX), DOCUMENTS_MAX)
    ]
    total = max(matches.total, len(ids))
    for _ in range(_ATTEMPTS):
        served_timestamp = find_served_timestamp(tables, name)
        counts = Counter(_iter_labels(tables, name, served_timestamp or 0, ids))
        if find_served_timestamp(tables, name) == served_timestamp:
            break
    unclustered_count, outside = counts.pop("", 0), counts.pop(None, 0)
    themes = [(label, count) for label, count in counts.items() if label is not None]
    return ThemeCounts(
        str(name),
        sorted(themes, key=lambda theme: (-theme[1], theme[0])),
        unclustered_count,
        outside,
        len(ids),
        total,
        load_label_names(
            tables, name, DEFAULT, served_timestamp or 0, [label for label, _ in themes]
        ),
    )


def _iter_labels(
    tables: Tables, name: CollectionName, timestamp: int, ids: Sequence[str]
) -> Iterator[str | None]:
    """Yield the theme label of each document, in the order of `ids`.

    The label is '' if the document is in no theme, and None if it is not in the collection.
    `timestamp` identifies the clustering.
    """
    for begin in range(0, len(ids), _BATCH_SIZE):
        chunk = ids[begin : begin + _BATCH_SIZE]
        rows = [build_assignment_row(name, DEFAULT, timestamp, id_) for id_ in chunk]
        unclustered_rows = [
            build_assignment_row(name, build_unclustered_conf(DEFAULT), timestamp, id_)
            for id_ in chunk
        ]
        labels_by_row = tables.get_rows(ASSIGNMENTS, [*rows, *unclustered_rows], [Column.LABEL])
        for row, unclustered_row in zip(rows, unclustered_rows, strict=True):
            label = decode_text(labels_by_row.get(row), Column.LABEL)
            yield label if label else "" if unclustered_row in labels_by_row else None


def _find_collection(tables: Tables, requested_name: str) -> CollectionName:
    """Return the name of the collection that a user requested as `requested_name`.

    Raises ValueError with a message for users if the collection is unknown or has no themes yet.
    """
    collections = list(islice(iter_collections(tables), NAMES_MAX)) if tables.exist() else []
    name = parse(requested_name)
    if tables.exist() and find_served_timestamp(tables, name):
        return name
    if any(collection.name == name for collection in collections):
        raise ValueError(
            f"The collection {requested_name!r} has no themes yet. Run `fonds group {requested_name}`."
        )
    message = format_unknown_name(
        "collection",
        requested_name,
        [str(collection.name) for collection in collections if collection.served],
    )
    raise ValueError(message[:1].upper() + message[1:] + ("" if message.endswith("?") else "."))
