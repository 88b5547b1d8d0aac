"""Brings what was taken in into the collections whose rules it fits, and out of those it fits no more.

Each rule has a mark: until when it looked at what was noted of files. Behind it, every document is asked
of the index by its id, so that a rule means what a search means. A mark stays ten minutes behind the
newest row, since an index may show a document later than its row stands there: what was looked at twice
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from fonds.derivatives.document_rows import IndexedKind
from fonds.derivatives.documents import decode_blob_text
from fonds.derivatives.kinds import KINDS
from fonds.grouping.changes.lifecycle import (
    QUERY,
    TEMPLATE,
    CollectionRule,
    build_search,
)
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import TEXT_MAX_BYTES, Document
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import build_namespace_prefix
from fonds.grouping.tables import (
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    decode_text,
    encode_utf8,
    iter_collection_rows,
)
from fonds.model.document import IndexDocument
from fonds.model.keys import build_text_blob_key
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs, Index, Records

COLLECTED = "main:collected"
SPAWNED_BY = "main:template_of"
OVERLAP = timedelta(minutes=10)
BATCH_SIZE = 200
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class CollectCounts:
    """How many documents were looked at, put because they were new or another, and taken out."""

    examined: int = 0
    put: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class RuleCollector:
    """Fills collections. `clock` gives aware UTC; `should_stop` says to leave off, between two batches."""

    changes: CollectionWriter
    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]
    should_stop: Callable[[], bool] = lambda: False

    def run(
        self, only_name: CollectionName | None = None, *, refetches: bool = False
    ) -> CollectCounts:
        """Go on behind the mark of every rule, or of the one of `only_name`; `refetches`: from the
        beginning."""
        done = CollectCounts()
        for rule, mark in iter_rules(self.changes.tables):
            if only_name is None or rule.name == only_name:
                self._follow_rule(rule, _FIRST if refetches else mark, done)
        return done

    def _follow_rule(self, rule: CollectionRule, mark: datetime, counts: CollectCounts) -> None:
        reached = mark
        for one, rows in self._iter_rows(mark):
            if self.should_stop():
                return
            reached = max(reached, *(row.updated for row in rows))
            self._judge_rows(rule, one, rows, counts)
        behind = min(reached, self.clock() - OVERLAP)
        if behind > mark:
            cells = {COLLECTED: encode_utf8(behind.isoformat())}
            self.changes.tables.put(COLLECTIONS, [(rule.name.row, cells)])

    def _iter_rows(self, mark: datetime) -> Iterator[tuple[IndexedKind, list[DerivativeRow]]]:
        """What was noted behind a mark, kind by kind, in the order of its times."""
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
        asked = replace(build_search(rule.query), ids=ids, count_max=len(ids))
        hits = {hit.document.id: hit.document for hit in self.index.search(asked).hits}
        wanted: dict[CollectionName, list[IndexDocument]] = {}
        for document in hits.values():
            wanted.setdefault(rule.build_target(document), []).append(document)
        counts.examined += len(ids)
        for name in {*wanted, *list_rule_collections(self.changes.tables, rule)}:
            documents = [self._build_document(each) for each in wanted.get(name, ())]
            here = {each.id for each in documents}
            if documents:
                put = self.changes.put(name, documents)
                counts.put += put.added + put.replaced
                self._record_template(rule, name)
            strays = self._list_existing(name, [id_ for id_ in ids if id_ not in here])
            if strays:
                counts.removed += self.changes.delete(name, strays)

    def _list_existing(self, name: CollectionName, ids: Sequence[str]) -> list[str]:
        rows = self.changes.tables.get_rows(
            DOCUMENTS, [name.build_document_row(id_) for id_ in ids], ["main:id"]
        )
        return [decode_text(cells, "main:id") for cells in rows.values()]

    def _record_template(self, rule: CollectionRule, name: CollectionName) -> None:
        if rule.is_template:
            cells = {SPAWNED_BY: encode_utf8(rule.name.key)}
            self.changes.tables.put(COLLECTIONS, [(name.row, cells)])

    def _build_document(self, document: IndexDocument) -> Document:
        title = document.article_title or ""
        body = decode_blob_text(self.blobs.get(build_text_blob_key(document.sha1hex)))
        day = document.publication_date
        moment = None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
        whole = f"{title}\n\n{body}" if title else body
        return Document(
            document.id,
            _limit_text(whole),
            title,
            document.url,
            document.language or "",
            None if moment is None or moment < _FIRST else int(moment.timestamp()),
        )


def iter_rules(tables: Tables) -> Iterator[tuple[CollectionRule, datetime]]:
    """The rules there are, each with its mark."""
    for name, cells in iter_collection_rows(tables):
        if cells.get(QUERY) or cells.get(TEMPLATE):
            yield CollectionRule(name, decode_text(cells, QUERY)), _parse_mark(cells)


def list_rule_collections(tables: Tables, rule: CollectionRule) -> list[CollectionName]:
    """The collections a rule fills that are there: its own, or those of its template."""
    if not rule.is_template:
        return [rule.name]
    prefix = build_namespace_prefix(rule.name.namespace)
    return [
        name
        for name, cells in iter_collection_rows(tables, prefix, [SPAWNED_BY])
        if decode_text(cells, SPAWNED_BY) == rule.name.key
    ]


def _parse_mark(cells: Mapping[str, bytes]) -> datetime:
    try:
        return datetime.fromisoformat(decode_text(cells, COLLECTED))
    except ValueError:
        return _FIRST


def _limit_text(text: str) -> str:
    """The text, cut where it is longer than a document may be; grouping reads less of it."""
    coded = text.encode("utf-8", "replace")
    return (
        text if len(coded) <= TEXT_MAX_BYTES else coded[:TEXT_MAX_BYTES].decode("utf-8", "ignore")
    )
