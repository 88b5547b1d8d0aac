"""The model that judges blocks, and the evidence it is given."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring

from fonds.extract.article.blocks import read_blocks
from fonds.extract.article.classifier import (
    KEEP_THRESHOLD,
    apply_opinion,
    compute_uncertainty,
    load_layers,
    score_blocks,
)
from fonds.extract.article.features import PageClaims, compute_features

SENTENCES = (
    "The council decided on Tuesday that the old bridge will be closed in spring, because of its cracks.",
    "Traffic is to be led over the new bridge, which was opened last year, said the mayor of the town.",
    "Merchants fear for their trade; some of them, among them the baker, have written to the council.",
)
BOILERPLATE = (
    "<nav class='menu'><ul><li><a href='/a'>Politics</a></li><li><a>Sports</a></li></ul></nav>"
)
RELATED = (
    "<div class='related-posts'><h3>Read more</h3><ul><li><a href='/c'>A boat burned in the harbour on Monday"
    "</a></li><li><a href='/d'>The baker has closed for good, and nobody knows why</a></li></ul></div>"
)
NEWSLETTER = (
    "<div class='newsletter-signup'><p>Subscribe to our newsletter, get news by e-mail.</p></div>"
)


def judged(body: str) -> dict[str, float]:
    blocks, nodes = read_blocks(document_fromstring(f"<html><body>{body}</body></html>"))
    features = compute_features(blocks, nodes, PageClaims(title="Bridge closes"))
    likely = score_blocks(load_layers(), features)
    return {block.text: float(one) for block, one in zip(blocks, likely, strict=True)}


def test_paragraphs_are_kept_and_what_stands_around_them_is_not() -> None:
    story = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    likely = judged(f"{BOILERPLATE}<div class='article-body'>{story}{NEWSLETTER}</div>{RELATED}")
    kept = {text for text, one in likely.items() if one >= KEEP_THRESHOLD}
    assert kept == set(SENTENCES)


def test_what_the_page_states_as_its_body_is_evidence() -> None:
    body = "<p>" + "</p><p>".join(SENTENCES) + "</p>"
    blocks, nodes = read_blocks(document_fromstring(f"<html><body>{body}</body></html>"))
    without = compute_features(blocks, nodes, PageClaims())
    stated = compute_features(blocks, nodes, PageClaims(body=SENTENCES[0]))
    assert (without != stated).any(axis=1).all()
    assert np.flatnonzero((stated[0] != stated[1]) & (without[0] == without[1])).size > 0


def test_many_blocks_are_judged_as_each_by_itself() -> None:
    random = np.random.default_rng(1)
    model = load_layers()
    features = random.normal(size=(100, len(model.mean))).astype(np.float32)
    alone = [score_blocks(model, features[row : row + 1])[0] for row in range(100)]
    assert np.allclose(score_blocks(model, features), alone, atol=1e-4)


def test_doubt_is_of_what_is_neither_kept_nor_left() -> None:
    features = np.ones((3, 4), np.float32)
    sure = compute_uncertainty(np.array([1, 1, 0], np.float32), features)
    unsure = compute_uncertainty(np.array([0.5, 0.6, 0.4], np.float32), features)
    assert sure == 0
    assert unsure > 0.5


def test_another_opinion_decides_where_the_model_does_not() -> None:
    likely = np.array([0.5, 0.5, 0.99, 0.01], np.float32)
    both = apply_opinion(likely, np.array([True, False, False, True]), 1.8)
    assert both[0] > 0.8
    assert both[1] < 0.2
    assert both[2] > 0.9
    assert both[3] < 0.1


@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<div>",
                "<br>",
                "<a>",
                "</a>",
                "word",
                "中文",
                "é,",
                "<li>",
                "<table>",
                "<td>",
                "<h1>",
            ]
        ),
        min_size=1,
    )
)
def test_any_page_has_sound_features(pieces: list[str]) -> None:
    blocks, nodes = read_blocks(
        document_fromstring(f"<html><body>{''.join(pieces)}x</body></html>")
    )
    features = compute_features(
        blocks, nodes, PageClaims("word", "é, word word word word word word", "x")
    )
    assert features.shape == (len(blocks), len(load_layers().mean))
    assert np.isfinite(features).all()
    assert (
        (score_blocks(load_layers(), features) >= 0) & (score_blocks(load_layers(), features) <= 1)
    ).all()
