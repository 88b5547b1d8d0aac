"""Turns the tree of a query, and the filters beside it, into a tantivy query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import tantivy
from tantivy import Occur, Query

from fonds.model.document import DateOf, SearchQuery
from fonds.model.keys import order_key
from fonds.stores.index.keys import EARLIER, EARLIER_WEIGHT
from fonds.stores.index.query.parsing import pairs, parse_query
from fonds.stores.index.query.tree import Among, Exact, Near, Node, Not, Or, Range, Term
from fonds.stores.index.tantivy_schema import (
    CUT_VERSIONS,
    LAST_DAY,
    STEM_FIELDS,
    UNDATED,
    WORD_FIELDS,
    day_field,
    without_surrogates,
)
from fonds.word_forms import Stem, stems_everywhere
from fonds.words import is_spaceless, words

TITLE_WEIGHT = 5.0
# What the weaker of title and text adds to the score of the stronger.
TIE_BREAKER = 0.2
TERMS_MAX = 20
DATE_FIELDS = {one.field: one for one in DateOf}


def build(query: SearchQuery, tree: Node, schema: tantivy.Schema) -> Query:
    """Documents that match the tree and all filters; filters do not change the score."""
    filters = [*_value_filters(query, schema), *_date_filters(query, schema)]
    filters += [Query.exists_query(CUT_VERSIONS)] if query.cut_versions else []
    return _all_of([_node(tree, schema), *map(_silent, filters)])


def behind(wanted: Query, id_: str, schema: tantivy.Schema) -> Query:
    """Of these documents those that stand behind one in the order by id, and that one."""
    key = order_key(without_surrogates(id_))
    return _all_of(
        [wanted, _silent(Query.range_query(schema, "order_key", tantivy.FieldType.Unsigned, key))]
    )


def fuzzy(word: str, faults: int, schema: tantivy.Schema) -> Query:
    """Documents with a word of so many faults in title or text."""
    fields = WORD_FIELDS["article_title"], WORD_FIELDS["text_content"]
    found = [Query.fuzzy_term_query(schema, field, word, faults) for field in fields]
    return Query.boolean_query([(Occur.Should, one) for one in found])


def parsed(query: SearchQuery) -> Node:
    """The tree of the text of a query. Raises ValueError with a sentence for people."""
    return parse_query(query)


def _node(node: Node, schema: tantivy.Schema) -> Query:
    if isinstance(node, Term):
        return _term(node, schema)
    if isinstance(node, Near):
        return _near(node, schema)
    if isinstance(node, Range):
        return _silent(_range(node, schema))
    if isinstance(node, Exact):
        return _silent(_exact(node, schema))
    if isinstance(node, Among):
        ids = [without_surrogates(id_) for id_ in node.ids]
        return _silent(Query.term_set_query(schema, "id", ids))
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


def _any_of(field: str, values: Sequence[str], schema: tantivy.Schema) -> Query:
    """Documents with one of these exact values. A set is looked up for every document of the index before the
    first is asked for, terms are read as far as the rest of the query goes: a few are faster so."""
    if len(values) > TERMS_MAX:
        return Query.term_set_query(schema, field, list(values))
    terms = [Query.term_query(schema, field, value, "basic") for value in values]
    return Query.boolean_query([(Occur.Should, one) for one in terms])


def _exact(node: Exact, schema: tantivy.Schema) -> Query:
    """A beginning is written for the library's expressions: what is no letter or digit of ASCII stands for
    itself behind a backslash."""
    if not node.prefix:
        return Query.term_query(schema, node.field, node.value)
    return Query.regex_query(schema, node.field, f"{re.escape(node.value)}.*")


def _silent(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def _term(term: Term, schema: tantivy.Schema) -> Query:
    return _in_fields(term, lambda field: _in_field(field, term, schema))


def _in_fields(node: Term | Near, build_in: Callable[[str], Query]) -> Query:
    """The query in the field of a node, or in title and text, where a match in the title weighs more."""
    weights = (
        {node.field: 1.0} if node.field else {"article_title": TITLE_WEIGHT, "text_content": 1.0}
    )
    if node.in_versions:
        weights |= {EARLIER[field]: EARLIER_WEIGHT * of for field, of in weights.items()}
    built = [
        build_in(field) if of == 1.0 else Query.boost_query(build_in(field), of)
        for field, of in weights.items()
    ]
    return built[0] if len(built) == 1 else Query.disjunction_max_query(built, TIE_BREAKER)


def _in_field(field: str, term: Term, schema: tantivy.Schema) -> Query:
    """Folded words hold letters, digits and marks alone, so a prefix needs no escaping."""
    parts = words(term.text)
    if term.prefix:
        return Query.regex_query(schema, WORD_FIELDS[field], f"{parts[0]}.*")
    if len(parts) > 1:
        return Query.phrase_query(schema, WORD_FIELDS[field], list(parts))
    if term.exact or field not in STEM_FIELDS or is_spaceless(parts[0][0]):
        return Query.term_query(schema, WORD_FIELDS[field], parts[0])
    found = [_stem(STEM_FIELDS[field], stem, schema) for stem in stems_everywhere(term.text)]
    return Query.boolean_query([(Occur.Should, one) for one in found])


def _stem(field: str, stem: Stem, schema: tantivy.Schema) -> Query:
    """Documents with this stem, of the languages it counts in."""
    having = Query.term_query(schema, field, stem.text)
    if stem.languages is not None:
        within = _any_of("language", list(stem.languages), schema)
        return Query.boolean_query([(Occur.Must, having), (Occur.Must, _silent(within))])
    if not stem.others:
        return having
    others = _any_of("language", list(stem.others), schema)
    return Query.boolean_query([(Occur.Must, having), (Occur.MustNot, others)])


def _near(near: Near, schema: tantivy.Schema) -> Query:
    return _in_fields(
        near,
        lambda field: _all_of(
            [_pair(WORD_FIELDS[field], *pair, near.between, schema) for pair in pairs(near)]
        ),
    )


def _pair(field: str, one: str, other: str, between: int, schema: tantivy.Schema) -> Query:
    """Both orders by themselves: the library takes an exchange of words for two steps."""
    orders = ([one, other], [other, one])
    return Query.boolean_query(
        [
            (Occur.Should, Query.phrase_query(schema, field, list(order), between))
            for order in orders
        ]
    )


def _range(node: Range, schema: tantivy.Schema) -> Query:
    dates = DATE_FIELDS.get(node.field)
    field = day_field(dates) if dates else node.field
    if node.first is None and node.last is None:
        if dates:
            return Query.term_query(schema, field, UNDATED)
        having = Query.exists_query(field)
        return Query.boolean_query([(Occur.Must, _everything()), (Occur.MustNot, having)])
    first = max(node.first or 0, UNDATED + 1) if dates else node.first or 0
    return Query.range_query(schema, field, tantivy.FieldType.Unsigned, first, node.last)


def _value_filters(query: SearchQuery, schema: tantivy.Schema) -> list[Query]:
    allowed: dict[str, Sequence[str]] = {
        "kind": query.kinds,
        "language": query.languages,
        "canonical_domain": query.domains,
        "collection": query.collections,
        "id": query.ids,
    }
    return [
        _any_of(field, [without_surrogates(str(value)) for value in values], schema)
        for field, values in allowed.items()
        if values
    ]


def _date_filters(query: SearchQuery, schema: tantivy.Schema) -> list[Query]:
    filters, field = [], day_field(query.dates)
    if query.undated:
        filters.append(Query.term_query(schema, field, UNDATED))
    if query.date_from or query.date_to:
        first = query.date_from.toordinal() if query.date_from else UNDATED + 1
        last = query.date_to.toordinal() if query.date_to else LAST_DAY
        filters.append(Query.range_query(schema, field, tantivy.FieldType.Unsigned, first, last))
    return filters
