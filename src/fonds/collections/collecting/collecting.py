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

from fonds.collections.changing.collections import QUERY, TEMPLATE
from fonds.collections.changing.writing import Changes
from fonds.collections.collecting.rules import Rule, search_of
from fonds.collections.documents import TEXT_BYTES_MAX, Document
from fonds.collections.names import Name
from fonds.collections.tables import COLLECTIONS, DOCUMENTS, Tables, collections_there, text, utf8
from fonds.formats.grouping.keys import namespace_prefix
from fonds.kinds import KINDS
from fonds.kinds.documents import text_of
from fonds.kinds.indexed import Indexed
from fonds.model.document import IndexDocument
from fonds.model.keys import text_blob_key
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs, Index, Records

COLLECTED = "main:collected"
SPAWNED_BY = "main:template_of"
BEHIND = timedelta(minutes=10)
AT_ONCE = 200
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Collected:
    """How many documents were looked at, put because they were new or another, and taken out."""

    seen: int = 0
    put: int = 0
    taken_out: int = 0


@dataclass(frozen=True, slots=True)
class Collecting:
    """Fills collections. `clock` gives aware UTC; `stopped` says to leave off, between two batches."""

    changes: Changes
    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]
    stopped: Callable[[], bool] = lambda: False

    def run(self, only: Name | None = None, *, again: bool = False) -> Collected:
        """Go on behind the mark of every rule, or of the one of `only`; `again`: from the beginning."""
        done = Collected()
        for rule, mark in rules(self.changes.tables):
            if only is None or rule.name == only:
                self._follow(rule, _FIRST if again else mark, done)
        return done

    def _follow(self, rule: Rule, mark: datetime, done: Collected) -> None:
        reached = mark
        for one, rows in self._rows(mark):
            if self.stopped():
                return
            reached = max(reached, *(row.updated for row in rows))
            self._judge(rule, one, rows, done)
        behind = min(reached, self.clock() - BEHIND)
        if behind > mark:
            cells = {COLLECTED: utf8(behind.isoformat())}
            self.changes.tables.put(COLLECTIONS, [(rule.name.row, cells)])

    def _rows(self, mark: datetime) -> Iterator[tuple[Indexed, list[DerivativeRow]]]:
        """What was noted behind a mark, kind by kind, in the order of its times."""
        for kind in KINDS:
            if kind.indexed is None:
                continue
            batch: list[DerivativeRow] = []
            after = {"updated": mark, "sha1hex": ""}
            for row in self.records.find(kind.row, order=("updated",), after=after):
                batch.append(row)
                if len(batch) >= AT_ONCE:
                    yield kind.indexed, batch
                    batch = []
            if batch:
                yield kind.indexed, batch

    def _judge(
        self, rule: Rule, one: Indexed, rows: Sequence[DerivativeRow], done: Collected
    ) -> None:
        ids = list(dict.fromkeys(one.id_of(row) for row in rows))
        asked = replace(search_of(rule.query), ids=ids, count_max=len(ids))
        hits = {hit.document.id: hit.document for hit in self.index.search(asked).hits}
        wanted: dict[Name, list[IndexDocument]] = {}
        for document in hits.values():
            wanted.setdefault(rule.target(document), []).append(document)
        done.seen += len(ids)
        for name in {*wanted, *spawned(self.changes.tables, rule)}:
            documents = [self._document(each) for each in wanted.get(name, ())]
            here = {each.id for each in documents}
            if documents:
                put = self.changes.put(name, documents)
                done.put += put.added + put.replaced
                self._note_template(rule, name)
            strays = self._there(name, [id_ for id_ in ids if id_ not in here])
            if strays:
                done.taken_out += self.changes.delete(name, strays)

    def _there(self, name: Name, ids: Sequence[str]) -> list[str]:
        rows = self.changes.tables.rows(DOCUMENTS, [name.document(id_) for id_ in ids], ["main:id"])
        return [text(cells, "main:id") for cells in rows.values()]

    def _note_template(self, rule: Rule, name: Name) -> None:
        if rule.is_template:
            cells = {SPAWNED_BY: utf8(rule.name.key)}
            self.changes.tables.put(COLLECTIONS, [(name.row, cells)])

    def _document(self, found: IndexDocument) -> Document:
        title = found.article_title or ""
        body = text_of(self.blobs.get(text_blob_key(found.sha1hex)))
        day = found.publication_date
        moment = None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
        whole = f"{title}\n\n{body}" if title else body
        return Document(
            found.id,
            _within(whole),
            title,
            found.url,
            found.language or "",
            None if moment is None or moment < _FIRST else int(moment.timestamp()),
        )


def rules(tables: Tables) -> Iterator[tuple[Rule, datetime]]:
    """The rules there are, each with its mark."""
    for name, cells in collections_there(tables):
        if cells.get(QUERY) or cells.get(TEMPLATE):
            yield Rule(name, text(cells, QUERY)), _mark(cells)


def spawned(tables: Tables, rule: Rule) -> list[Name]:
    """The collections a rule fills that are there: its own, or those of its template."""
    if not rule.is_template:
        return [rule.name]
    prefix = namespace_prefix(rule.name.namespace)
    return [
        name
        for name, cells in collections_there(tables, prefix, [SPAWNED_BY])
        if text(cells, SPAWNED_BY) == rule.name.key
    ]


def _mark(cells: Mapping[str, bytes]) -> datetime:
    try:
        return datetime.fromisoformat(text(cells, COLLECTED))
    except ValueError:
        return _FIRST


def _within(whole: str) -> str:
    """The text, cut where it is longer than a document may be; grouping reads less of it."""
    coded = whole.encode("utf-8", "replace")
    return (
        whole if len(coded) <= TEXT_BYTES_MAX else coded[:TEXT_BYTES_MAX].decode("utf-8", "ignore")
    )
