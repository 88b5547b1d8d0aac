"""Collector that keeps collections in line with their rules.

The collector adds documents that match a rule and removes those that no longer match. Each rule
has a mark: the update time up to which it has processed records. Documents updated after the mark
are searched in the index by id, so a rule matches the same documents as a search. The mark stays at
least ten minutes in the past, because the index may show a document later than its record.
Processing a document twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fonds.derivatives.document_rows import IndexedKind
from fonds.derivatives.documents import decode_blob_text
from fonds.derivatives.kinds import KINDS
from fonds.grouping.changes.lifecycle import CollectionRule
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checksums import build_changed_checksum_cell
from fonds.grouping.columns import Column
from fonds.grouping.document import TEXT_MAX_BYTES, Document
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import build_namespace_prefix
from fonds.grouping.tables import (
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    decode_text,
    encode_utf8,
    is_collection_row,
    iter_collection_rows,
)
from fonds.model.document import IndexDocument
from fonds.model.keys import build_text_blob_key
from fonds.model.rows.row import DerivativeRow
from fonds.model.search import SearchQuery
from fonds.ports import Blobs, Index, Records

OVERLAP = timedelta(minutes=10)
BATCH_SIZE = 200
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class CollectCounts:
    """Numbers of documents that a collector examined, put (new or changed), and removed."""

    examined_count: int = 0
    put_count: int = 0
    removed_count: int = 0


@dataclass(frozen=True, slots=True)
class RuleCollector:
    """Collector that adds and removes documents of collections according to their rules.

    - `clock`: returns the current time as aware UTC.
    - `should_stop`: called between batches; True ends the run early.
    """

    writer: CollectionWriter
    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]
    should_stop: Callable[[], bool] = lambda: False

    def run(
        self, only_name: CollectionName | None = None, *, refetches: bool = False
    ) -> CollectCounts:
        """Process the records updated since the last run, for each collection rule.

        `only_name`: collection whose rule alone is run; None for all rules.
        `refetches`: whether to process all records again, from the oldest.
        Return the numbers of documents examined, put and removed.
        """
        counts = CollectCounts()
        for rule, mark in iter_rules(self.writer.tables):
            if only_name is None or rule.name == only_name:
                self._follow_rule(rule, _FIRST if refetches else mark, counts)
        return counts

    def _follow_rule(self, rule: CollectionRule, mark: datetime, counts: CollectCounts) -> None:
        newest = mark
        for kind, rows in self._iter_rows(mark):
            if self.should_stop():
                return
            newest = max(newest, *(row.updated for row in rows))
            self._judge_rows(rule, kind, rows, counts)
        new_mark = min(newest, self.clock() - OVERLAP)
        if new_mark > mark:
            cells = {Column.COLLECTED: encode_utf8(new_mark.isoformat())}
            self.writer.tables.put(COLLECTIONS, [(rule.name.row, cells)])

    def _iter_rows(self, mark: datetime) -> Iterator[tuple[IndexedKind, list[DerivativeRow]]]:
        """Iterate over batches of derivative rows updated after the time `mark`.

        Each item is a kind of derivative that has index documents, and rows of that kind. Items are
        ordered by kind, then by update time.
        """
        for kind in KINDS:
            if kind.indexed is None:
                continue
            batch: list[DerivativeRow] = []
            after = {"updated": mark, "sha1hex": ""}
            for row in self.records.find(kind.row, order=("updated",), after=after):
                batch.append(row)
                if len(batch) >= BATCH_SIZE:
                    yield kind.indexed, batch
                    batch = []
            if batch:
                yield kind.indexed, batch

    def _judge_rows(
        self,
        rule: CollectionRule,
        kind: IndexedKind,
        rows: Sequence[DerivativeRow],
        counts: CollectCounts,
    ) -> None:
        ids = list(dict.fromkeys(kind.get_id(row) for row in rows))
        search = SearchQuery(rule.query, ids=ids, count_max=len(ids))
        hits = {hit.document.id: hit.document for hit in self.index.search(search).hits}
        documents_by_collection: dict[CollectionName, list[IndexDocument]] = {}
        for document in hits.values():
            documents_by_collection.setdefault(rule.build_target(document), []).append(document)
        counts.examined_count += len(ids)
        for name in {*documents_by_collection, *list_rule_collections(self.writer.tables, rule)}:
            documents = [
                self._build_document(item) for item in documents_by_collection.get(name, ())
            ]
            matching_ids = {item.id for item in documents}
            if documents:
                put_counts = self.writer.put(name, documents)
                counts.put_count += put_counts.added + put_counts.replaced
                self._record_template(rule, name)
            stray_ids = self._list_existing(name, [id_ for id_ in ids if id_ not in matching_ids])
            if stray_ids:
                counts.removed_count += self.writer.delete(name, stray_ids)

    def _list_existing(self, name: CollectionName, ids: Sequence[str]) -> list[str]:
        rows = self.writer.tables.get_rows(
            DOCUMENTS, [name.build_document_row(id_) for id_ in ids], [Column.ID]
        )
        return [decode_text(cells, Column.ID) for cells in rows.values()]

    def _record_template(self, rule: CollectionRule, name: CollectionName) -> None:
        """Record in a collection's row that a template fills it."""
        if not rule.is_template:
            return
        cells = {Column.TEMPLATE_OF: encode_utf8(rule.name.key)}
        if self.writer.tables.get_row(COLLECTIONS, name.row, list(cells)) == cells:
            return
        with self.writer.lease(name) as collection:
            if is_collection_row(collection.cells):
                cells |= build_changed_checksum_cell(COLLECTIONS, name.row, collection.cells, cells)
                self.writer.leases.check(collection.lease)
                self.writer.tables.put(COLLECTIONS, [(name.row, cells)])

    def _build_document(self, document: IndexDocument) -> Document:
        title = document.article_title or ""
        body = decode_blob_text(self.blobs.get(build_text_blob_key(document.sha1hex)))
        day = document.publication_date
        published_at = None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
        text = f"{title}\n\n{body}" if title else body
        return Document(
            document.id,
            _limit_text(text),
            title,
            document.url,
            document.language or "",
            None
            if published_at is None or published_at < _FIRST
            else int(published_at.timestamp()),
        )


def iter_rules(tables: Tables) -> Iterator[tuple[CollectionRule, datetime]]:
    """Iterate over all collection rules, each with its mark.

    The mark is the update time up to which the rule has processed records.
    """
    for name, cells in iter_collection_rows(tables):
        if cells.get(Column.QUERY) or cells.get(Column.TEMPLATE):
            yield CollectionRule(name, decode_text(cells, Column.QUERY)), _parse_mark(cells)


def list_rule_collections(tables: Tables, rule: CollectionRule) -> list[CollectionName]:
    """Return the names of the collections that a rule fills.

    For a template, these are the collections that already exist for values of its field. For any
    other rule, it is the one collection of the rule.
    """
    if not rule.is_template:
        return [rule.name]
    prefix = build_namespace_prefix(rule.name.namespace)
    return [
        name
        for name, cells in iter_collection_rows(tables, prefix, [Column.TEMPLATE_OF])
        if decode_text(cells, Column.TEMPLATE_OF) == rule.name.key
    ]


def _parse_mark(cells: Mapping[str, bytes]) -> datetime:
    try:
        return datetime.fromisoformat(decode_text(cells, Column.COLLECTED))
    except ValueError:
        return _FIRST


def _limit_text(text: str) -> str:
    """Return the text of a document, cut to `TEXT_MAX_BYTES` in UTF-8.

    Nothing is lost, because grouping reads only the beginning of a text.
    """
    encoded_text = text.encode("utf-8", "replace")
    return (
        text
        if len(encoded_text) <= TEXT_MAX_BYTES
        else encoded_text[:TEXT_MAX_BYTES].decode("utf-8", "ignore")
    )
