"""Extract paragraphs from markup tag by tag, without building a tree: linear time at any size and
depth.

This selects less well than the block classifier. It is used for pages whose tree is too large, or
in which the classifier finds almost nothing. Limits: each regular expression passes over the markup
once; at most a million tags are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fonds.text.entities import decode_entities

BLOCKS_MAX = 1_000_000
"""Maximum number of tags of a page that are read. Text after them is omitted."""

PARAGRAPH_MIN_BYTES = 60
"""Minimum UTF-8 bytes of a paragraph: about ten English words or twenty Chinese characters."""

ENOUGH_CHARS = 200

_HIDDEN_NAMES = "script|style|textarea|title|template|svg|select|iframe|object"
_HIDDEN_START = re.compile(rf"<!--|<({_HIDDEN_NAMES})(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_END_TAGS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _HIDDEN_NAMES.split("|")}
_INLINE_NAMES = (
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|nobr|q|rb|rp|rt"
    "|ruby|s|samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_BLOCK_TAG = re.compile(
    rf"<(?!/?(?:{_INLINE_NAMES})[\s/>])([/!?]?[A-Za-z][A-Za-z0-9:-]*+)[^<>]*+>", re.I
)
_ANY_TAG = re.compile(r"<[/!?]?[A-Za-z][^<>]*+>")
_LINK = re.compile(r"<a(?=[\s>])[^<>]*+>([^<]*+(?:<(?!/a|a[\s>])[^<]*+)*+)", re.IGNORECASE)
_UNRELATED_TAGS = frozenset(
    {"nav", "footer", "aside", "form", "header", "button", "noscript", "menu"}
)


def extract_paragraphs(markup: str) -> str:
    """Return the paragraphs of a page, one per line. If almost nothing looks like a paragraph,
    return all its text.
    """
    prose: list[str] = []
    all_texts: list[str] = []
    for block, is_unrelated in _iter_blocks(_strip_hidden_elements(markup)):
        text = _strip_tags(_ANY_TAG.sub("", block) if "<" in block else block)
        if not text:
            continue
        all_texts.append(text)
        is_long_enough = (
            len(text) >= PARAGRAPH_MIN_BYTES or len(text.encode()) >= PARAGRAPH_MIN_BYTES
        )
        if is_long_enough and not is_unrelated and not _is_mostly_links(block, text):
            prose.append(text)
    joined_prose = "\n".join(prose)
    return joined_prose if len(joined_prose) >= ENOUGH_CHARS else "\n".join(all_texts)


def _strip_hidden_elements(markup: str) -> str:
    """Return markup without comments, and without elements that have no visible text, such as
    scripts.
    """
    pieces: list[str] = []
    position = 0
    while start_match := _HIDDEN_START.search(markup, position):
        pieces.append(markup[position : start_match.start()])
        if start_match[1] is None:
            end = markup.find("-->", start_match.end())
            position = end + 3 if end >= 0 else len(markup)
        elif start_match[0].endswith("/>"):
            position = start_match.end()
        else:
            end_match = _END_TAGS[start_match[1].lower()].search(markup, start_match.end())
            position = end_match.start() if end_match else len(markup)
    pieces.append(markup[position:])
    return " ".join(pieces)


def _iter_blocks(markup: str) -> Iterator[tuple[str, bool]]:
    """Yield the markup between successive block tags, and whether it is in an element outside the
    main text, such as navigation.
    """
    unrelated_depth = 0
    position = 0
    for count, tag in enumerate(_BLOCK_TAG.finditer(markup)):
        yield markup[position : tag.start()], unrelated_depth > 0
        position = tag.end()
        name = tag[1].lower()
        if name in _UNRELATED_TAGS:
            unrelated_depth += 1
        elif name[0] == "/" and name[1:] in _UNRELATED_TAGS:
            unrelated_depth = max(0, unrelated_depth - 1)
        if count >= BLOCKS_MAX:
            return
    yield markup[position:], unrelated_depth > 0


def _is_mostly_links(block: str, text: str) -> bool:
    if "<" not in block:
        return False
    linked_chars = sum(len(_strip_tags(_ANY_TAG.sub("", link))) for link in _LINK.findall(block))
    return linked_chars * 2 > len(text)


def _strip_tags(text: str) -> str:
    return " ".join(decode_entities(text).split())
