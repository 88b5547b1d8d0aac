"""A tree as a row of blocks."""

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


def blocks(body: str) -> tuple[list[Block], list[Node]]:
    return read_blocks(document_fromstring(f"<html><body>{body}</body></html>"))


def texts(body: str) -> list[str]:
    return [block.text for block in blocks(body)[0]]


def test_blocks_end_where_block_elements_begin_and_end() -> None:
    assert texts("a<p>b <b>c</b>d</p>e<div>f<p>g</p>h</div>") == ["a", "b cd", "e", "f", "g", "h"]


def test_a_break_is_a_line_and_two_are_a_new_block() -> None:
    assert texts("<p>a<br>b<br> <br/>c<br></p>") == ["a\nb", "c"]


def test_what_is_no_text_of_the_page_is_left_out() -> None:
    assert texts("<script>x</script><p>a<svg><text>y</text></svg>b</p><noscript>z</noscript>") == [
        "ab"
    ]


def test_links_bold_type_and_pictures_are_counted() -> None:
    ((block,), _) = blocks("<p><img>one <a>two</a> <b>three <a>four</a></b></p>")
    assert (block.linked_chars, block.bold_chars, block.links, block.images) == (7, 9, 2, 1)


def test_an_element_knows_the_names_and_places_around_it() -> None:
    _, nodes = blocks(
        "<article class='sidebar'><div id='newsletterBox' hidden><p>a</p></div></article>"
    )
    inner = nodes[-1]
    side, wall = (1 << NAME_GROUPS.index(name) for name in ("side", "wall"))
    assert inner.ancestor_groups & side
    assert inner.ancestor_groups & wall
    assert inner.ancestor_groups & HIDDEN
    assert inner.places & 1
    assert [node.parent for node in nodes] == [-1, 0, 1, 2]


def test_names_are_read_word_by_word() -> None:
    bits = {name: 1 << bit for bit, name in enumerate(NAME_GROUPS)}
    assert find_name_groups("article-body") & bits["body"]
    assert find_name_groups("articleBody") & bits["body"]
    assert not find_name_groups("shareholders") & bits["share"]
    assert find_name_groups("post_comment-list") & bits["comment"]


def test_words_tell_what_a_short_line_is() -> None:
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
    found, nodes = blocks(markup)
    joined = "".join(block.text for block in found)
    assert joined.count("a") == pieces.count("a")
    assert joined.count("é") == pieces.count("é")
    assert all(0 <= block.node < len(nodes) for block in found)
    assert all(node.parent < index for index, node in enumerate(nodes))
