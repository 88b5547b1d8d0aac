"""The model that scores blocks, and its features."""

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


def score_body(body: str) -> dict[str, float]:
    blocks, nodes = read_blocks(document_fromstring(f"<html><body>{body}</body></html>"))
    features = compute_features(blocks, nodes, PageClaims(title="Bridge closes"))
    scores = score_blocks(load_layers(), features)
    return {block.text: float(score) for block, score in zip(blocks, scores, strict=True)}


def test_paragraphs_are_kept_without_the_boilerplate_around_them() -> None:
    story = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    scores = score_body(
        f"{BOILERPLATE}<div class='article-body'>{story}{NEWSLETTER}</div>{RELATED}"
    )
    kept_texts = {text for text, score in scores.items() if score >= KEEP_THRESHOLD}
    assert kept_texts == set(SENTENCES)


def test_the_body_that_a_page_states_changes_the_features() -> None:
    body = "<p>" + "</p><p>".join(SENTENCES) + "</p>"
    blocks, nodes = read_blocks(document_fromstring(f"<html><body>{body}</body></html>"))
    features_without = compute_features(blocks, nodes, PageClaims())
    features_with = compute_features(blocks, nodes, PageClaims(body=SENTENCES[0]))
    assert (features_without != features_with).any(axis=1).all()
    assert (
        np.flatnonzero(
            (features_with[0] != features_with[1]) & (features_without[0] == features_without[1])
        ).size
        > 0
    )


def test_a_batch_of_blocks_has_the_scores_of_single_blocks() -> None:
    random = np.random.default_rng(1)
    model = load_layers()
    features = random.normal(size=(100, len(model.mean))).astype(np.float32)
    single_scores = [score_blocks(model, features[row : row + 1])[0] for row in range(100)]
    assert np.allclose(score_blocks(model, features), single_scores, atol=1e-4)


def test_uncertainty_is_high_for_scores_near_the_middle() -> None:
    features = np.ones((3, 4), np.float32)
    certain = compute_uncertainty(np.array([1, 1, 0], np.float32), features)
    uncertain = compute_uncertainty(np.array([0.5, 0.6, 0.4], np.float32), features)
    assert certain == 0
    assert uncertain > 0.5


def test_a_second_opinion_decides_only_uncertain_blocks() -> None:
    scores = np.array([0.5, 0.5, 0.99, 0.01], np.float32)
    combined = apply_opinion(scores, np.array([True, False, False, True]), 1.8)
    assert combined[0] > 0.8
    assert combined[1] < 0.2
    assert combined[2] > 0.9
    assert combined[3] < 0.1


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
def test_any_page_has_finite_features_and_scores(pieces: list[str]) -> None:
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
