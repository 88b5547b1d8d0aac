"""Turns the tree of a query, and the filters beside it, into a tantivy query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tantivy
from tantivy import Occur, Query

from fonds.model.document import SearchQuery
from fonds.stores.index.query import Exact, Node, Not, Or, Term, parse
from fonds.stores.index.tantivy_schema import LAST_DAY, UNDATED, WORD_FIELDS, without_surrogates
from fonds.words import words

TITLE_WEIGHT = 5.0
# What the weaker of title and text adds to the score of the stronger.
TIE_BREAKER = 0.2


def build(query: SearchQuery, tree: Node, schema: tantivy.Schema) -> Query:
    """Documents that match the tree and all filters; filters do not change the score."""
    filters = [*_value_filters(query, schema), *_date_filters(query, schema)]
    return _all_of([_node(tree, schema), *map(_silent, filters)])


def parsed(query: SearchQuery) -> Node:
    """The tree of the text of a query. Raises ValueError with a sentence for people."""
    return parse(without_surrogates(query.text))


def _node(node: Node, schema: tantivy.Schema) -> Query:
    if isinstance(node, Term):
        return _term(node, schema)
    if isinstance(node, Exact):
        return _silent(Query.term_query(schema, node.field, node.value))
    if isinstance(node, Or):
        return Query.boolean_query([(Occur.Should, _node(child, schema)) for child in node.nodes])
    if isinstance(node, Not):
        return _except([node.node], [_everything()], schema)
    wanted = [_node(child, schema) for child in node.nodes if not isinstance(child, Not)]
    excluded = [child.node for child in node.nodes if isinstance(child, Not)]
    return _except(excluded, wanted or [_everything()], schema) if excluded else _all_of(wanted)


def _except(excluded: Iterable[Node], wanted: Sequence[Query], schema: tantivy.Schema) -> Query:
    return Query.boolean_query(
        [(Occur.Must, query) for query in wanted]
        + [(Occur.MustNot, _node(node, schema)) for node in excluded]
    )


def _all_of(queries: Sequence[Query]) -> Query:
    if len(queries) == 1:
        return queries[0]
    return (
        Query.boolean_query([(Occur.Must, query) for query in queries])
        if queries
        else _everything()
    )


def _everything() -> Query:
    return _silent(Query.all_query())


def _silent(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def _term(term: Term, schema: tantivy.Schema) -> Query:
    parts = words(term.text)
    if term.field is not None:
        return _in_field(WORD_FIELDS[term.field], parts, term.prefix, schema)
    title = _in_field(WORD_FIELDS["article_title"], parts, term.prefix, schema)
    text = _in_field(WORD_FIELDS["text_content"], parts, term.prefix, schema)
    return Query.disjunction_max_query([Query.boost_query(title, TITLE_WEIGHT), text], TIE_BREAKER)


def _in_field(field: str, parts: list[str], prefix: bool, schema: tantivy.Schema) -> Query:
    """Folded words hold letters, digits and marks alone, so a prefix needs no escaping."""
    if prefix:
        return Query.regex_query(schema, field, f"{parts[0]}.*")
    if len(parts) == 1:
        return Query.term_query(schema, field, parts[0])
    return Query.phrase_query(schema, field, list(parts))


def _value_filters(query: SearchQuery, schema: tantivy.Schema) -> list[Query]:
    allowed: dict[str, Sequence[str]] = {
        "kind": query.kinds,
        "language": query.languages,
        "canonical_domain": query.domains,
        "collection": query.collections,
        "id": query.ids,
    }
    return [
        Query.term_set_query(schema, field, [without_surrogates(str(value)) for value in values])
        for field, values in allowed.items()
        if values
    ]


def _date_filters(query: SearchQuery, schema: tantivy.Schema) -> list[Query]:
    filters = []
    if query.undated:
        filters.append(Query.term_query(schema, "publication_day", UNDATED))
    if query.date_from or query.date_to:
        first = query.date_from.toordinal() if query.date_from else UNDATED + 1
        last = query.date_to.toordinal() if query.date_to else LAST_DAY
        filters.append(
            Query.range_query(schema, "publication_day", tantivy.FieldType.Unsigned, first, last)
        )
    return filters
