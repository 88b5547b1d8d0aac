"""Drawings of pipelines contain every stage and are well-formed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from fonds.model.step import Pipeline, Stage, Topic
from fonds.pipelines.diagram import draw_svg, format_tree
from fonds.pipelines.flavours.registry import PIPELINES

A, B, C = Topic("a", int), Topic("b<", str, public=True), Topic("c", bytes)
SMALL = Pipeline(
    "small",
    A,
    (
        Stage("first", A, (B, C)),
        Stage("second", B, (C,)),
        Stage("third", C, tag="x"),
        Stage("third", C, tag="y"),
    ),
    "a few & no more",
)


def test_the_tree_shows_topics_and_the_stages_that_read_them() -> None:
    assert format_tree(SMALL).splitlines() == [
        "small: a few & no more",
        "a → first",
        "├─ b<* → second",
        "│  └─ c → see above",
        "├─ c → third-x",
        "└─ c → third-y",
    ]


@pytest.mark.parametrize("pipeline", [SMALL, *(make(()) for make in PIPELINES.values())])
def test_the_drawing_contains_every_stage_once(pipeline: Pipeline) -> None:
    drawn = ElementTree.fromstring(draw_svg(pipeline))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    for stage in pipeline.stages:
        assert texts.count(stage.name) == 1
        assert f"→ {stage.name}" in format_tree(pipeline)
    title = drawn.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert pipeline.name in (title.text or "")
