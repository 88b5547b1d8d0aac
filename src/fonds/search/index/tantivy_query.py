"""Translate the syntax tree and filters of a query into a tantivy query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import tantivy
from tantivy import Occur, Query

from fonds.model.document import DateOf
from fonds.model.keys import compute_order_key
from fonds.model.search import SearchQuery
from fonds.search.fields import EARLIER_FIELDS, STEM_FIELDS, WORD_FIELDS, list_filter_values
from fonds.search.index.tantivy_schema import (
    LAST_DAY,
    UNDATED,
    get_day_field,
    remove_surrogates,
)
from fonds.search.index.words import CUT_VERSIONS_FIELD, EARLIER_WEIGHT
from fonds.search.query.parser import list_pairs
from fonds.search.query.tree import (
    ExactValue,
    IdSet,
    NearWords,
    Node,
    NotNode,
    NumberRange,
    OrNode,
    Term,
)
from fonds.text.stems import Stem, list_search_stems
from fonds.text.words import is_spaceless, split_words

TITLE_WEIGHT = 5.0
# Share of the weaker of title and text that is added to the score of the stronger.
TIE_BREAKER = 0.2
TERMS_MAX = 20
DATE_FIELDS = {kind.field_name: kind for kind in DateOf}


def build(query: SearchQuery, tree: Node, schema: tantivy.Schema) -> Query:
    """Build a tantivy query for documents that match the tree and all filters.

    Filters do not change the score.
    """
    filters = [*_build_value_filters(query, schema), *_build_date_filters(query, schema)]
    filters += [Query.exists_query(CUT_VERSIONS_FIELD)] if query.cut_versions else []
    return _build_all_of([_build_query(tree, schema), *map(_make_constant, filters)])


def restrict_after(tantivy_query: Query, id_: str, schema: tantivy.Schema) -> Query:
    """Restrict a query to the document with id `id_` and the documents after it in order of id."""
    key = compute_order_key(remove_surrogates(id_))
    return _build_all_of(
        [
            tantivy_query,
            _make_constant(Query.range_query(schema, "order_key", tantivy.FieldType.Unsigned, key)),
        ]
    )


def build_fuzzy_query(word: str, edits_max: int, schema: tantivy.Schema) -> Query:
    """Build a query for documents whose title or text has a word within `edits_max` edits of
    `word`.
    """
    fields = WORD_FIELDS["article_title"], WORD_FIELDS["text_content"]
    field_queries = [Query.fuzzy_term_query(schema, field, word, edits_max) for field in fields]
    return Query.boolean_query([(Occur.Should, field_query) for field_query in field_queries])


def _build_query(node: Node, schema: tantivy.Schema) -> Query:
    if isinstance(node, Term):
        return _build_term(node, schema)
    if isinstance(node, NearWords):
        return _build_near(node, schema)
    if isinstance(node, NumberRange):
        return _make_constant(_build_range(node, schema))
    if isinstance(node, ExactValue):
        return _make_constant(_build_exact(node, schema))
    if isinstance(node, IdSet):
        ids = [remove_surrogates(id_) for id_ in node.ids]
        return _make_constant(Query.term_set_query(schema, "id", ids))
    if isinstance(node, OrNode):
        return Query.boolean_query(
            [(Occur.Should, _build_query(child, schema)) for child in node.nodes]
        )
    if isinstance(node, NotNode):
        return _build_except([node.node], [_build_match_all()], schema)
    required_queries = [
        _build_query(child, schema) for child in node.nodes if not isinstance(child, NotNode)
    ]
    excluded_nodes = [child.node for child in node.nodes if isinstance(child, NotNode)]
    return (
        _build_except(excluded_nodes, required_queries or [_build_match_all()], schema)
        if excluded_nodes
        else _build_all_of(required_queries)
    )


def _build_except(
    excluded_nodes: Iterable[Node], queries: Sequence[Query], schema: tantivy.Schema
) -> Query:
    return Query.boolean_query(
        [(Occur.Must, query) for query in queries]
        + [(Occur.MustNot, _build_query(node, schema)) for node in excluded_nodes]
    )


def _build_all_of(queries: Sequence[Query]) -> Query:
    if len(queries) == 1:
        return queries[0]
    return (
        Query.boolean_query([(Occur.Must, query) for query in queries])
        if queries
        else _build_match_all()
    )


def _build_match_all() -> Query:
    return _make_constant(Query.all_query())


def _build_any_of(field: str, values: Sequence[str], schema: tantivy.Schema) -> Query:
    """Build a query for documents with one of several exact values in a field.

    For many values it is a set query, which the library compares with every document of the index.
    For few values, term queries are faster, because they are read only as far as needed.
    """
    if len(values) > TERMS_MAX:
        return Query.term_set_query(schema, field, list(values))
    terms = [Query.term_query(schema, field, value, "basic") for value in values]
    return Query.boolean_query([(Occur.Should, term) for term in terms])


def _build_exact(node: ExactValue, schema: tantivy.Schema) -> Query:
    """Build a query for documents with an exact value in a field.

    If the node is a prefix, values that begin with its value match too.
    """
    if not node.is_prefix:
        return Query.term_query(schema, node.field, node.value)
    return Query.regex_query(schema, node.field, f"{re.escape(node.value)}.*")


def _make_constant(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def _build_term(term: Term, schema: tantivy.Schema) -> Query:
    return _build_in_fields(term, lambda field: _build_in_field(field, term, schema))


def _build_in_fields(node: Term | NearWords, build_in: Callable[[str], Query]) -> Query:
    """Build a query for words in the field that the syntax tree node names, or in title and text.

    A match in the title weighs more.
    """
    weights = (
        {node.field: 1.0} if node.field else {"article_title": TITLE_WEIGHT, "text_content": 1.0}
    )
    if node.in_versions:
        weights |= {
            EARLIER_FIELDS[field]: EARLIER_WEIGHT * weight for field, weight in weights.items()
        }
    field_queries = [
        build_in(field) if weight == 1.0 else Query.boost_query(build_in(field), weight)
        for field, weight in weights.items()
    ]
    return (
        field_queries[0]
        if len(field_queries) == 1
        else Query.disjunction_max_query(field_queries, TIE_BREAKER)
    )


def _build_in_field(field: str, term: Term, schema: tantivy.Schema) -> Query:
    """Build a query for documents that have a term in a field.

    A term that is the beginning of a word needs no escaping, because folded words have only
    letters, digits and marks.
    """
    parts = split_words(term.text)
    if term.is_prefix:
        return Query.regex_query(schema, WORD_FIELDS[field], f"{parts[0]}.*")
    if len(parts) > 1:
        return Query.phrase_query(schema, WORD_FIELDS[field], list(parts))
    if term.is_exact or field not in STEM_FIELDS or is_spaceless(parts[0][0]):
        return Query.term_query(schema, WORD_FIELDS[field], parts[0])
    stem_queries = [
        _build_stem(STEM_FIELDS[field], stem, schema) for stem in list_search_stems(term.text)
    ]
    return Query.boolean_query([(Occur.Should, stem_query) for stem_query in stem_queries])


def _build_stem(field: str, stem: Stem, schema: tantivy.Schema) -> Query:
    """Build a query for documents with a stem, in the languages to which the stem applies."""
    with_stem = Query.term_query(schema, field, stem.text)
    if stem.languages is not None:
        in_languages = _build_any_of("language", list(stem.languages), schema)
        return Query.boolean_query(
            [(Occur.Must, with_stem), (Occur.Must, _make_constant(in_languages))]
        )
    if not stem.other_languages:
        return with_stem
    in_other_languages = _build_any_of("language", list(stem.other_languages), schema)
    return Query.boolean_query([(Occur.Must, with_stem), (Occur.MustNot, in_other_languages)])


def _build_near(near: NearWords, schema: tantivy.Schema) -> Query:
    return _build_in_fields(
        near,
        lambda field: _build_all_of(
            [
                _build_pair(WORD_FIELDS[field], *pair, near.between, schema)
                for pair in list_pairs(near)
            ]
        ),
    )


def _build_pair(
    field: str, first_word: str, second_word: str, words_between_max: int, schema: tantivy.Schema
) -> Query:
    """Build a query for two words near each other, in either order.

    Each order is a query of its own, because the library counts a swap of words as two steps.
    """
    orders = ([first_word, second_word], [second_word, first_word])
    return Query.boolean_query(
        [
            (Occur.Should, Query.phrase_query(schema, field, list(order), words_between_max))
            for order in orders
        ]
    )


def _build_range(node: NumberRange, schema: tantivy.Schema) -> Query:
    dates = DATE_FIELDS.get(node.field)
    field = get_day_field(dates) if dates else node.field
    if node.first is None and node.last is None:
        if dates:
            return Query.term_query(schema, field, UNDATED)
        with_value = Query.exists_query(field)
        return Query.boolean_query([(Occur.Must, _build_match_all()), (Occur.MustNot, with_value)])
    first = max(node.first or 0, UNDATED + 1) if dates else node.first or 0
    return Query.range_query(schema, field, tantivy.FieldType.Unsigned, first, node.last)


def _build_value_filters(query: SearchQuery, schema: tantivy.Schema) -> list[Query]:
    allowed_values = {**list_filter_values(query), "id": query.ids}
    return [
        _build_any_of(field, [remove_surrogates(str(value)) for value in values], schema)
        for field, values in allowed_values.items()
        if values
    ]


def _build_date_filters(query: SearchQuery, schema: tantivy.Schema) -> list[Query]:
    filters, field = [], get_day_field(query.dates)
    if query.undated:
        filters.append(Query.term_query(schema, field, UNDATED))
    if query.date_from or query.date_to:
        first = query.date_from.toordinal() if query.date_from else UNDATED + 1
        last = query.date_to.toordinal() if query.date_to else LAST_DAY
        filters.append(Query.range_query(schema, field, tantivy.FieldType.Unsigned, first, last))
    return filters
