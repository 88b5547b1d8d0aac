"""Create collections, set their rules, and remove collections with all their contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fonds.grouping.changes.writer import CollectionWriter, clear_collection
from fonds.grouping.columns import Column
from fonds.grouping.names import CollectionName, validate_name
from fonds.grouping.redo_log import PendingWrites, perform
from fonds.grouping.register import build_register_cells, build_register_row
from fonds.grouping.stored.keys import parse_collection_row
from fonds.grouping.tables import COLLECTIONS, REGISTER, encode_utf8, is_collection_row
from fonds.model.document import IndexDocument
from fonds.model.search import QUERY_MAX_CHARS, SearchQuery
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Index


def create(
    writer: CollectionWriter, name: CollectionName, query: str = "", template: str = ""
) -> bool:
    """Create a collection, or change the rule of an existing one. Return whether it is new.

    `query`: search for the documents to collect; '' if other programs put the documents.
    `template`: key with a field in braces, such as `news/{month}`; one collection is filled for
        each value of the field. '' for a single collection.

    Raises ValueError for an invalid name or a query over 4,000 characters.
    """
    validate_name(name)
    if len(query) > QUERY_MAX_CHARS:
        raise ValueError(f"a query can have at most {QUERY_MAX_CHARS:,} characters")
    with writer.lease(name, long=True) as collection:
        is_new = not is_collection_row(collection.cells)
        if is_new:
            clear_collection(writer.tables, name)
        writes = PendingWrites()
        writes.put(REGISTER, build_register_row(COLLECTIONS, name.row), build_register_cells(name))
        cells = {
            Column.NAMESPACE: encode_utf8(name.namespace),
            Column.COLLECTION_KEY: encode_utf8(name.key),
            Column.QUERY: encode_utf8(query),
            Column.TEMPLATE: encode_utf8(template),
        }
        if is_new:
            cells[Column.SIZE] = b"0"
        writes.put(COLLECTIONS, name.row, cells)
        cells_before = {} if is_new else collection.cells
        perform(writer.tables, name, cells_before, [], writes, writer.leases, collection.lease)
    return is_new


def remove(writer: CollectionWriter, name: CollectionName) -> bool:
    """Remove a collection with its documents and clusterings. Return whether it existed.

    The collection is invisible from the first write on. If the process dies, `finish_removals`
    finishes the removal.
    """
    with writer.lease(name, long=True) as collection:
        if not collection.cells:
            return False
        writer.tables.put(COLLECTIONS, [(name.row, {Column.REMOVED: b"1"})])
        clear_collection(writer.tables, name)
    return True


def finish_removals(writer: CollectionWriter) -> int:
    """Finish the removals of collections that a dead process left unfinished; return their
    number.
    """
    names = [
        CollectionName(*parse_collection_row(row))
        for row, _ in writer.tables.iter_rows(COLLECTIONS, b"", [Column.REMOVED])
    ]
    for name in names:
        remove(writer, name)
    return len(names)


# The rule of a collection is a query of the query language (docs/query.md). A template also has a
# key with a field in braces.
#
#     kind:story flood date:2026-11    a query
#     news/{month}                     a key with {month}, {year}, {language} or {kind}:
#                                      one collection for each value
#
# A document without a value for the field goes to the collection with the value `none`.


FIELDS = ("language", "month", "year", "kind")
NONE = "none"
_FIELD = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class CollectionRule:
    """Rule that fills one collection, or one collection for each value of a template's field.

    - `name`: name of the collection; for a template its key contains the field in braces.
    - `query`: query for the documents to collect.
    """

    name: CollectionName
    query: str

    @property
    def is_template(self) -> bool:
        """Whether the rule is a template, which fills one collection for each value of a field."""
        return is_template(self.name.key)

    def build_target(self, document: IndexDocument) -> CollectionName:
        """Return the name of the collection into which the rule puts a matching document."""
        return replace(
            self.name,
            key=_FIELD.sub(lambda field: _get_field_value(field.group(1), document), self.name.key),
        )


def is_template(key: str) -> bool:
    """Return whether the key of a collection is a template: whether it has a field in braces."""
    return _FIELD.search(key) is not None


def validate_rule(rule: CollectionRule, index: Index) -> int:
    """Check a collection rule; return the number of indexed documents that match the rule now.

    Raises ValueError for an invalid search, an unknown field, or a template without a query.
    """
    for field in _FIELD.findall(rule.name.key):
        if field not in FIELDS:
            raise ValueError(format_unknown_name("field of a template", field, FIELDS))
    if rule.is_template and not rule.query:
        raise ValueError("a template needs a query. Use '*' for all documents")
    return index.search(SearchQuery(rule.query, count_max=0)).total


def _get_field_value(field: str, document: IndexDocument) -> str:
    day = document.publication_date
    if field == "language":
        return document.language or NONE
    if field == "kind":
        return str(document.kind)
    if day is None:
        return NONE
    return f"{day.year:04d}-{day.month:02d}" if field == "month" else f"{day.year:04d}"
