"""Blocks of text read from the tree of a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring

from fonds.extract.article.blocks import Block, Node, read_blocks
from fonds.extract.article.lexicon import (
    HIDDEN,
    NAME_GROUPS,
    find_cue_groups,
    find_name_groups,
)


def read_body(body: str) -> tuple[list[Block], list[Node]]:
    return read_blocks(document_fromstring(f"<html><body>{body}</body></html>"))


def read_texts(body: str) -> list[str]:
    return [block.text for block in read_body(body)[0]]


def test_blocks_end_at_block_elements() -> None:
    assert read_texts("a<p>b <b>c</b>d</p>e<div>f<p>g</p>h</div>") == [
        "a",
        "b cd",
        "e",
        "f",
        "g",
        "h",
    ]


def test_one_break_is_a_line_and_two_breaks_are_a_new_block() -> None:
    assert read_texts("<p>a<br>b<br> <br/>c<br></p>") == ["a\nb", "c"]


def test_scripts_and_drawings_are_ignored() -> None:
    assert read_texts(
        "<script>x</script><p>a<svg><text>y</text></svg>b</p><noscript>z</noscript>"
    ) == ["ab"]


def test_linked_and_bold_characters_links_and_images_are_counted() -> None:
    ((block,), _) = read_body("<p><img>one <a>two</a> <b>three <a>four</a></b></p>")
    assert (block.linked_chars, block.bold_chars, block.links, block.images) == (7, 9, 2, 1)


def test_a_node_inherits_the_groups_and_places_of_its_ancestors() -> None:
    _, nodes = read_body(
        "<article class='sidebar'><div id='newsletterBox' hidden><p>a</p></div></article>"
    )
    innermost = nodes[-1]
    side, wall = (1 << NAME_GROUPS.index(name) for name in ("side", "wall"))
    assert innermost.ancestor_groups & side
    assert innermost.ancestor_groups & wall
    assert innermost.ancestor_groups & HIDDEN
    assert innermost.places & 1
    assert [node.parent for node in nodes] == [-1, 0, 1, 2]


def test_names_are_split_into_words() -> None:
    bits = {name: 1 << bit for bit, name in enumerate(NAME_GROUPS)}
    assert find_name_groups("article-body") & bits["body"]
    assert find_name_groups("articleBody") & bits["body"]
    assert not find_name_groups("shareholders") & bits["share"]
    assert find_name_groups("post_comment-list") & bits["comment"]


def test_cue_words_classify_a_short_line() -> None:
    assert find_cue_groups("Lea también: Otra noticia") != 0
    assert find_cue_groups("The bridge closes") == 0


@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<div>",
                "</div>",
                "<br>",
                "<a>",
                "</a>",
                "a",
                "&amp;",
                "<li>",
                "<table>",
                "<td>",
                "é",
            ]
        )
    )
)
def test_any_markup_gives_blocks_in_order_and_loses_no_letter(pieces: list[str]) -> None:
    markup = "".join(pieces)
    page_blocks, nodes = read_body(markup)
    full_text = "".join(block.text for block in page_blocks)
    assert full_text.count("a") == pieces.count("a")
    assert full_text.count("é") == pieces.count("é")
    assert all(0 <= block.node < len(nodes) for block in page_blocks)
    assert all(node.parent < index for index, node in enumerate(nodes))
