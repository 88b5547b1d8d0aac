"""The map: circles as large as their themes, in the frame, apart, in the same place each time."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fonds.web.themes.collection.drawing import (
    GAP,
    NARROW,
    WIDE,
    Frame,
    Spot,
    drawn,
    fitted,
    picture,
)

PLACES = st.floats(-1, 1, width=32)
SPOTS = st.lists(
    st.builds(
        Spot,
        st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="￾￿")),
        st.integers(0, 100_000),
        st.tuples(PLACES, PLACES),
        st.sampled_from(["", "new", "rising"]),
        st.integers(0, 10**9).map(lambda number: f"/themes/a/b/{number}"),
    ),
    max_size=30,
    unique_by=lambda spot: spot.href,
)


def _spots(count: int) -> list[Spot]:
    return [
        Spot(f"theme {at}", 10 + 7 * at, (math.sin(at), math.cos(at)), "", f"/t/{at:03}")
        for at in range(count)
    ]


@settings(max_examples=30, deadline=None)
@given(SPOTS, st.sampled_from([WIDE, NARROW]))
def test_every_circle_lies_in_the_frame_and_nothing_breaks_out_of_the_picture(
    spots: list[Spot], frame: Frame
) -> None:
    circles = drawn(spots, frame)
    assert len(circles) == min(len(spots), frame.circles_max)
    for one in circles:
        assert one.radius - 0.01 <= one.x <= frame.width - one.radius + 0.01
        assert one.radius - 0.01 <= one.y <= frame.height - one.radius + 0.01
    tree = ElementTree.fromstring(str(picture(circles, frame, "<title> & more")))
    assert len(tree.findall(".//circle")) == len(circles)
    assert {one.get("href") for one in tree.iter("a")} == {c.spot.href for c in circles}


@pytest.mark.parametrize("frame", [WIDE, NARROW])
def test_circles_do_not_cover_each_other_even_at_one_place(frame: Frame) -> None:
    spots = [Spot(str(at), 5, (0.0, 0.0), "", f"/t/{at}") for at in range(frame.circles_max)]
    circles = drawn(spots, frame)
    for number, one in enumerate(circles):
        for other in circles[:number]:
            away = math.hypot(one.x - other.x, one.y - other.y)
            assert away >= one.radius + other.radius - GAP


def test_the_largest_are_drawn_and_their_areas_are_as_their_sizes() -> None:
    circles = drawn(_spots(70), WIDE)
    assert {c.spot.size for c in circles} == {10 + 7 * at for at in range(10, 70)}
    first, last = circles[0], circles[-1]
    ratio = (first.radius / last.radius) ** 2
    assert ratio == pytest.approx(first.spot.size / last.spot.size, rel=0.01)


def test_the_same_themes_are_drawn_at_the_same_places_in_any_order() -> None:
    spots = _spots(40)
    there = {c.spot.href: (c.x, c.y) for c in drawn(spots, WIDE)}
    assert {c.spot.href: (c.x, c.y) for c in drawn(spots[::-1], WIDE)} == there


def test_a_label_stays_within_its_circle_or_is_left_out() -> None:
    assert fitted("floods, river", 80) == ["floods, river"]
    assert fitted("floods, river, rain", 50) == ["floods,", "river, rain"]
    assert fitted("Bundesverfassungsgericht, Urteil", 40) == ["Bundesver…"]
    assert fitted("Bundesverfassungsgericht", 18) == []
    assert fitted("kotan, bari", 28) == ["kotan…"]
    assert fitted("floods, of Bundesverfassungsgericht", 40) == ["floods,", "of…"]
    assert len(fitted("洪水警報発令中", 40)) == 0
