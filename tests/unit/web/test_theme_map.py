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


def _build_spots(count: int) -> list[MapSpot]:
    return [
        MapSpot(
            f"theme {number}",
            10 + 7 * number,
            (math.sin(number), math.cos(number)),
            f"/t/{number:03}",
        )
        for number in range(count)
    ]


@settings(max_examples=examples(12), deadline=None)
@given(SPOTS)
def test_circles_are_inside_the_drawing_and_labels_are_escaped(spots: list[MapSpot]) -> None:
    circles = place_circles(spots)
    assert len(circles) == len(spots)
    for circle in circles:
        assert circle.radius - 0.01 <= circle.x <= WIDTH - circle.radius + 0.01
        assert circle.radius - 0.01 <= circle.y <= HEIGHT - circle.radius + 0.01
    tree = ElementTree.fromstring(str(draw_theme_map(spots, "<title> & more")))
    assert len(tree.findall(".//circle")) == len(circles)
    assert {link.get("href") for link in tree.iter("a")} == {circle.spot.href for circle in circles}


def test_circles_at_one_place_do_not_overlap() -> None:
    circles = place_circles(
        [MapSpot(str(index), 5, (0.0, 0.0), f"/t/{index}") for index in range(CIRCLES_MAX)]
    )
    for number, first in enumerate(circles):
        for second in circles[:number]:
            distance = math.hypot(first.x - second.x, first.y - second.y)
            assert distance >= first.radius + second.radius - GAP


def test_the_largest_themes_are_drawn_with_proportional_areas() -> None:
    circles = place_circles(_build_spots(70))
    assert {circle.spot.size for circle in circles} == {10 + 7 * number for number in range(10, 70)}
    first, last = circles[0], circles[-1]
    ratio = (first.radius / last.radius) ** 2
    assert ratio == pytest.approx(first.spot.size / last.spot.size, rel=0.01)


def test_positions_do_not_depend_on_the_order_of_themes() -> None:
    spots = _build_spots(40)
    positions = {circle.spot.href: (circle.x, circle.y) for circle in place_circles(spots)}
    assert {
        circle.spot.href: (circle.x, circle.y) for circle in place_circles(spots[::-1])
    } == positions


def test_a_label_fits_its_circle_or_is_omitted() -> None:
    assert fit_label("floods, river", 80) == ["floods, river"]
    assert fit_label("floods, river, rain", 50) == ["floods,", "river, rain"]
    assert fit_label("Bundesverfassungsgericht, Urteil", 40) == ["Bundesver…"]
    assert fit_label("Bundesverfassungsgericht", 18) == []
    assert fit_label("kotan, bari", 28) == ["kotan…"]
    assert fit_label("floods, of Bundesverfassungsgericht", 40) == ["floods,", "of…"]
    assert len(fit_label("洪水警報発令中", 40)) == 0
