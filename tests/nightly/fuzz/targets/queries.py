"""Queries and addresses of replay: parsed, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fonds.archive.replay.captures import UrlMatch, build_key_ranges, pad_lower14
from fonds.archive.replay.cdx_query import CdxCollapse, CdxFilter, CdxResumeKey
from fonds.archive.replay.memento import escape_link_url, parse_accept_datetime, parse_replay_path
from fonds.model.search import SearchQuery
from fonds.search.index import elastic_query, tantivy_query
from fonds.search.index.tantivy_schema import build_schema, remove_surrogates
from fonds.search.query.parser import DEPTH_MAX, parse
from fonds.search.query.tree import AndNode, Node, NotNode, OrNode, list_highlighted_terms
from nightly.fuzz.guarantees import decode_any_text, require

SCHEMA = build_schema()
SENTENCE_MAX_CHARS = 500


def check(data: bytes) -> None:
    """Parse a query and translate it for both kinds of index."""
    text = remove_surrogates(decode_any_text(data))
    _check_captures(text)
    try:
        tree = parse(text)
    except ValueError as error:
        message = str(error)
        require(0 < len(message) <= SENTENCE_MAX_CHARS, "an error is a sentence", message)
        return
    require(_depth(tree) <= 3 * DEPTH_MAX + 3, "a tree keeps its depth limit", tree)
    list_highlighted_terms(tree)
    query = SearchQuery(text=text)
    tantivy_query.build(query, tree, SCHEMA)
    msgspec.json.encode(elastic_query.build_body(query, tree))


def _check_captures(text: str) -> None:
    """Parse the text as address below `/web/`, as filter and as resume key."""
    path, _, query = text.partition("?")
    replay_path = parse_replay_path(path, query)
    if replay_path is not None:
        require(escape_link_url(replay_path.url).isascii(), "a link is ASCII", replay_path)
    for parse_text in (
        CdxFilter.parse,
        CdxCollapse.parse,
        CdxResumeKey.decode,
        parse_accept_datetime,
        pad_lower14,
    ):
        try:
            parse_text(text)
        except ValueError as error:
            require(bool(str(error)), "an error is a sentence", error)
    for match in UrlMatch:
        try:
            build_key_ranges(text, match)
        except ValueError as error:
            require(bool(str(error)), "an error is a sentence", error)


def _depth(node: Node) -> int:
    if isinstance(node, NotNode):
        return 1 + _depth(node.node)
    if isinstance(node, AndNode | OrNode):
        return 1 + max(map(_depth, node.nodes), default=0)
    return 1


def seeds() -> Iterator[bytes]:
    """Yield every element of the syntax."""
    texts = (
        'flood "big river" -cup NOT cap +dam flood*',
        "flood OR (drought AND title:(dry land)) text:x url:example",
        "domain:example.org language:en kind:pdf collection:news",
        '"open quote and (open parenthesis',
        "OR AND NOT ) ( - + *:* * ~2 a^3 “quoted” «quoted»",
        "洪水 OR 河川 title:洪水* Überschwemmung naïve",
        "--a ---b kind:other nofield:x http://example.org/a?b=c a:b:c",
        "(" * 40 + "a",
        "20240301120000id_/https://example.org/a%20b?c=d#e",
        "timemap/json/20240301120000/http:/example.org/",
        "!statuscode:2..|3(0|1)*",
        "timestamp:8",
        "Thu, 31 May 2007 20:35:00 GMT",
        "20240301",
    )
    yield from (text.encode() for text in texts)
