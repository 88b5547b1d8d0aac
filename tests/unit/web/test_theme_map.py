"""The map: circles sized by their themes, inside the picture, not overlapping, at stable positions."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.web.pages.theme_map import (
    CIRCLES_MAX,
    GAP,
    HEIGHT,
    WIDTH,
    MapSpot,
    draw_theme_map,
    fit_label,
    place_circles,
)

PLACES = st.floats(-1, 1, width=32)
SPOTS = st.lists(
    st.builds(
        MapSpot,
        st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="￾￿")),
        st.integers(0, 100_000),
        st.tuples(PLACES, PLACES),
        st.integers(0, 10**9).map(lambda number: f"/themes/a/b/{number}"),
    ),
    max_size=30,
    unique_by=lambda spot: spot.href,
)


def _spots(count: int) -> list[MapSpot]:
    return [
        MapSpot(f"theme {at}", 10 + 7 * at, (math.sin(at), math.cos(at)), f"/t/{at:03}")
        for at in range(count)
    ]


@settings(max_examples=examples(12), deadline=None)
@given(SPOTS)
def test_every_circle_lies_in_the_picture_and_labels_stay_text(spots: list[MapSpot]) -> None:
    circles = place_circles(spots)
    assert len(circles) == len(spots)
    for one in circles:
        assert one.radius - 0.01 <= one.x <= WIDTH - one.radius + 0.01
        assert one.radius - 0.01 <= one.y <= HEIGHT - one.radius + 0.01
    tree = ElementTree.fromstring(str(draw_theme_map(spots, "<title> & more")))
    assert len(tree.findall(".//circle")) == len(circles)
    assert {one.get("href") for one in tree.iter("a")} == {c.spot.href for c in circles}


def test_circles_do_not_overlap_even_at_one_place() -> None:
    circles = place_circles(
        [MapSpot(str(at), 5, (0.0, 0.0), f"/t/{at}") for at in range(CIRCLES_MAX)]
    )
    for number, one in enumerate(circles):
        for circle in circles[:number]:
            away = math.hypot(one.x - circle.x, one.y - circle.y)
            assert away >= one.radius + circle.radius - GAP


def test_the_largest_are_drawn_and_their_areas_are_as_their_sizes() -> None:
    circles = place_circles(_spots(70))
    assert {c.spot.size for c in circles} == {10 + 7 * at for at in range(10, 70)}
    first, last = circles[0], circles[-1]
    ratio = (first.radius / last.radius) ** 2
    assert ratio == pytest.approx(first.spot.size / last.spot.size, rel=0.01)


def test_the_same_themes_are_drawn_at_the_same_places_in_any_order() -> None:
    spots = _spots(40)
    there = {c.spot.href: (c.x, c.y) for c in place_circles(spots)}
    assert {c.spot.href: (c.x, c.y) for c in place_circles(spots[::-1])} == there


def test_a_label_stays_within_its_circle_or_is_left_out() -> None:
    assert fit_label("floods, river", 80) == ["floods, river"]
    assert fit_label("floods, river, rain", 50) == ["floods,", "river, rain"]
    assert fit_label("Bundesverfassungsgericht, Urteil", 40) == ["Bundesver…"]
    assert fit_label("Bundesverfassungsgericht", 18) == []
    assert fit_label("kotan, bari", 28) == ["kotan…"]
    assert fit_label("floods, of Bundesverfassungsgericht", 40) == ["floods,", "of…"]
    assert len(fit_label("洪水警報発令中", 40)) == 0
