"""Split the tree of a page into blocks: runs of text between the boundaries of block elements, in
reading order.

Each block has its text, its numbers of characters in links and in bold type, and the index of the
block element that contains it. Source: HTML, section 15.3 (which elements are blocks by default).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml.etree import _Element as Element

from fonds.extract.article.lexicon import HIDDEN, find_name_groups

_INLINE_TAGS = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rb",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "picture",
        "source",
    ]
)
_HIDDEN_TAGS = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "select",
        "iframe",
        "object",
        "embed",
        "textarea",
        "button",
        "head",
        "canvas",
        "audio",
        "video",
        "map",
        "math",
        "option",
        "input",
        "title",
        "meta",
        "link",
        "base",
    ]
)
PLACES = {
    "article": 0,
    "main": 1,
    "section": 2,
    "aside": 3,
    "nav": 4,
    "header": 5,
    "footer": 6,
    "form": 7,
    "table": 8,
    "ul": 9,
    "ol": 9,
    "menu": 9,
    "figure": 10,
    "figcaption": 10,
    "blockquote": 11,
    "dl": 13,
    "details": 14,
    "dialog": 14,
}
"""HTML elements whose tags describe what they contain, and for each the number of its bit in
`Node.places`. Bit 12 is for `itemprop="articleBody"`.
"""
PLACE_BITS = 15
_ARTICLE_BODY = 1 << 12
_BREAK = "\x00"


@dataclass(slots=True)
class Node:
    """A block element of a page. In the list of elements (nodes), its descendants follow it
    directly.

    - `parent`: index of the parent element in that list; -1 for the root.
    - `tag`, `depth`: tag name of the element, and its depth in the tree.
    - `names`: values of the attributes `class`, `id`, `role` and `itemprop`, separated by spaces.
    - `own_groups`: word groups (`lexicon.py`) that occur in `names`, as a bit mask. It
      includes the group `hidden` if the element is not displayed.
    - `ancestor_groups`: word groups that occur in the names of all ancestors, as a bit mask.
    - `places`: tags such as `article` or `nav` (`PLACES`) of the element and its ancestors, as a
      bit mask.
    - `end`: index in the list after the last descendant.
    """

    parent: int
    tag: str
    depth: int
    names: str
    own_groups: int
    ancestor_groups: int
    places: int
    end: int = 0


@dataclass(slots=True)
class Block:
    """A run of text of a page, with single spaces. Each `<br>` begins a new line of the text.

    - `node`: index of the block element that contains the text.
    - `linked_chars`, `bold_chars`: number of characters in links and in bold type.
    - `links`, `breaks`, `images`: number of `<a>`, line breaks and `<img>` in the block.
    """

    text: str
    node: int
    linked_chars: int
    bold_chars: int
    links: int
    breaks: int
    images: int


@dataclass(slots=True)
class _TreeWalk:
    blocks: list[Block] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    node: int = 0
    linked: int = 0
    bold: int = 0
    links: int = 0
    breaks: int = 0
    images: int = 0

    def read(self, element: Element, tag: str, in_link: bool, in_bold: bool, depth: int) -> None:
        outer = self.node
        is_block = tag not in _INLINE_TAGS
        if is_block:
            self._end_block()
            self.node = self._enter(element, tag, outer, depth)
        elif tag == "a":
            in_link = True
            self.links += 1
        elif tag in ("b", "strong"):
            in_bold = True
        elif tag == "img":
            self.images += 1
        if text := element.text:
            self._add(text, in_link, in_bold)
        self._read_children(element, in_link, in_bold, depth)
        if is_block:
            self._end_block()
            self.nodes[self.node].end = len(self.nodes)
            self.node = outer

    def _read_children(self, element: Element, in_link: bool, in_bold: bool, depth: int) -> None:
        for child in element:
            name = child.tag
            if name == "br" or name == "hr":
                self._break()
            elif isinstance(name, str) and name not in _HIDDEN_TAGS:
                self.read(child, name, in_link, in_bold, depth + 1)
            if tail := child.tail:
                self._add(tail, in_link, in_bold)

    def _add(self, text: str, in_link: bool, in_bold: bool) -> None:
        self.pieces.append(text)
        if in_link:
            self.linked += len(text.strip())
        if in_bold:
            self.bold += len(text.strip())

    def _break(self) -> None:
        """End a line of the block at a `<br>` or `<hr>`. Two line breaks in a row end the block."""
        for piece in reversed(self.pieces):
            if piece is _BREAK:
                self._end_block()
                return
            if not piece.isspace():
                self.pieces.append(_BREAK)
                self.breaks += 1
                return

    def _end_block(self) -> None:
        if self.pieces:
            joined_text = "".join(self.pieces)
            if self.breaks:
                lines = (" ".join(line.split()) for line in joined_text.split(_BREAK))
                text = "\n".join(line for line in lines if line)
            else:
                text = " ".join(joined_text.split())
            if text:
                counts = (self.linked, self.bold, self.links, self.breaks, self.images)
                self.blocks.append(Block(text, self.node, *counts))
                self.images = 0
            self.pieces = []
            self.linked = self.bold = self.breaks = self.links = 0

    def _enter(self, element: Element, tag: str, outer: int, depth: int) -> int:
        names = ""
        name_groups = 0
        place = PLACES.get(tag)
        places = 0 if place is None else 1 << place
        if attributes := element.items():
            attribute_values = dict(attributes)
            get = attribute_values.get
            names = f"{get('class', '')} {get('id', '')} {get('role', '')} {get('itemprop', '')}"
            name_groups = find_name_groups(names)
            if "articleBody" in names:
                places |= _ARTICLE_BODY
            style = get("style")
            if (style and "display" in style and "none" in style) or "hidden" in attribute_values:
                name_groups |= HIDDEN
        if not self.nodes:
            self.nodes.append(Node(-1, tag, depth, names, name_groups, 0, places))
            return 0
        parent_node = self.nodes[outer]
        groups_above = parent_node.ancestor_groups | parent_node.own_groups
        self.nodes.append(
            Node(outer, tag, depth, names, name_groups, groups_above, places | parent_node.places)
        )
        return len(self.nodes) - 1


def read_blocks(tree: Element) -> tuple[list[Block], list[Node]]:
    """Return the blocks of a page in reading order, and the block elements, parents before
    children.

    At least one element is returned, even without blocks. The tree must not be deeper than Python's
    stack allows.
    """
    walk = _TreeWalk()
    body = tree.find("body")
    root = tree if body is None else body
    walk.read(root, "body", False, False, 0)
    return walk.blocks, walk.nodes
