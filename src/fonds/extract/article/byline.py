"""Find the authors of a page: in JSON-LD, meta tags, marked elements, or the byline (a line such as
"By Jane Doe").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from lxml.etree import _Element as Element

from fonds.extract.article.blocks import Block, Node
from fonds.extract.article.head import PageHead
from fonds.extract.article.linked_data import LinkedData

AUTHORS_MAX = 20
_NAME_MAX_CHARS = 80
_BYLINE_MAX_CHARS = 160
_ELEMENTS_MAX = 50

_META = (
    "author article:author article:author_name sailthru.author parsely-author dc.creator dcterms.creator "
    "byl"
)
_META_NAMES = tuple(_META.split())
_BYLINE_PREFIX = re.compile(
    r"^\W*(?:(?:written|reported|posted|text|story|article|words|geschrieben)\s+)?"
    r"(?:by|von|par|por|di|da|door|av|af|autor(?:in)?|author|text|od|автор)\b\s*:?\s+",
    re.IGNORECASE,
)
_BYLINE_NAMES = re.compile(
    r"\b(?:byline|by-line|author|authors|autor|autoren|writer|auteur|redacteur)\b|byline|author-?name",
    re.I,
)
_UNRELATED_NAMES = re.compile(
    r"comment|related|bio|about|more|image|avatar|photo|list", re.IGNORECASE
)
_BYLINE_END = re.compile(
    r"\s*(?:[|•·–—\n]|\s-\s|\d|\b(?:updated|published|aktualisiert|veröffentlicht|für|for|in)\b).*",
    re.I | re.S,
)
_NAME_SEPARATOR = re.compile(
    r"\s*(?:[,;/&]|\b(?:and|und|et|y|e|en|och|og|und|with|mit|avec)\b)\s*", re.I
)
_ADDRESS = re.compile(r"https?://|www\.|@|\.com\b|\.de\b")
_NOT_A_NAME = re.compile(
    r"^(?:admin|administrator|editor|redaktion|redaction|redacción|staff|anonymous|unknown|author|follow|guest|none)$",
    re.IGNORECASE,
)


def find_authors(
    tree: Element,
    marked_elements: Sequence[Element],
    head: PageHead,
    linked_data: LinkedData,
    blocks: Sequence[Block],
    nodes: Sequence[Node],
) -> tuple[tuple[str, ...], str | None]:
    """Return the names of the authors of a page, and where they were found: `json-ld`, `meta`,
    `markup` or `byline`.

    Return () and None if no authors are found. `marked_elements` are the elements with an attribute
    `itemprop`.
    """
    meta_values = (head.meta.get(name, "") for name in _META_NAMES)
    # Elements and JSON-LD name one author each; a tag or a byline may name all of them.
    finders: tuple[tuple[str, Callable[[], tuple[str, ...]]], ...] = (
        ("json-ld", lambda: _keep_all(linked_data.authors)),
        ("meta", lambda: _keep_first(meta_values)),
        ("markup", lambda: _keep_all(_find_marked(tree, marked_elements))),
        ("byline", lambda: _keep_first(_find_bylines(blocks, nodes))),
    )
    return next(((names, source) for source, find in finders if (names := find())), ((), None))


def _keep_first(texts: Iterable[str]) -> tuple[str, ...]:
    return next((names for text in texts if (names := split_names(text))), ())


def split_names(text: str) -> tuple[str, ...]:
    """Return the names of persons in a byline, without the other words of the byline.

    Return () if the text contains a web or e-mail address, or nothing that looks like a name.
    """
    text = " ".join(text[: 10 * _BYLINE_MAX_CHARS].split())
    if not text or _ADDRESS.search(text):
        return ()
    text = _BYLINE_END.sub("", _BYLINE_PREFIX.sub("", text))
    names = [name.strip(" .,:()") for name in _NAME_SEPARATOR.split(text)]
    return tuple(dict.fromkeys(name for name in names if _is_name(name)))[:AUTHORS_MAX]


def _is_name(name: str) -> bool:
    words = name.split()
    if not words or len(name) > _NAME_MAX_CHARS or len(words) > 5 or _NOT_A_NAME.match(name):
        return False
    if not name[0].isupper() and not (name[0].isalpha() and name[0].lower() == name[0].upper()):
        return False
    return len(words) > 1 or len(name) > 2


def _keep_all(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for text in texts for name in split_names(text)))[:AUTHORS_MAX]


def _find_marked(tree: Element, marked_elements: Sequence[Element]) -> list[str]:
    """Return the texts of elements that are marked as author by microdata or `rel="author"`."""
    creators = [
        element for element in marked_elements if element.get("itemprop") in ("author", "creator")
    ]
    author_elements: list[Element] = tree.xpath("//a[@rel='author']")
    for element in creators[:_ELEMENTS_MAX]:
        author_elements += element.xpath("descendant::*[@itemprop='name']") or [element]
    texts = (
        (element.get("content") or "".join(element.itertext()))[:400]
        for element in author_elements[:_ELEMENTS_MAX]
    )
    return list(dict.fromkeys(texts))


def _find_bylines(blocks: Sequence[Block], nodes: Sequence[Node]) -> list[str]:
    """Return the texts of short blocks whose element, or its parent, has a class or id such as
    `byline` or `author`, in page order.
    """
    bylines = []
    for block in blocks:
        node = nodes[block.node]
        names = f"{node.names} {nodes[max(node.parent, 0)].names}"
        if (
            len(block.text) > _BYLINE_MAX_CHARS
            or not _BYLINE_NAMES.search(names)
            or _UNRELATED_NAMES.search(names)
        ):
            continue
        bylines.append(block.text)
    return bylines
