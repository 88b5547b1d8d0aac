"""Looks and parts of the map: each theme has a look of its own and keeps it; parts share the themes out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from fonds.web.themes.collection.drawing import WIDE, Spot, drawn, picture
from fonds.web.themes.collection.hues import Look, looks
from fonds.web.themes.collection.parts import QUARTERS, named, within
from page_reading import read

COLLECTION = "/themes/made/five"
IDS = st.lists(
    st.builds(lambda version, at: f"{version:x}-{at}", st.integers(1, 300), st.integers(0, 99)),
    unique=True,
    max_size=64,
)
PLACES = st.tuples(st.floats(-1, 1, width=32), st.floats(-1, 1, width=32))


@given(IDS)
def test_up_to_64_themes_each_have_a_look_of_their_own(ids: list[str]) -> None:
    found = looks(ids)
    assert len(set(found.values())) == len(ids)
    assert found == looks(ids[::-1])


def test_a_theme_that_comes_later_changes_no_look_and_a_later_one_begins_again() -> None:
    old = [f"{version:x}-{at}" for version in (9, 15, 16) for at in range(10)]
    assert looks([*old, "11-0", "100-3"]).items() >= looks(old).items()
    assert len(looks(f"1-{at}" for at in range(1_000))) == 1_000


def test_the_picture_hatches_by_look_and_in_no_other_way() -> None:
    spots = [Spot(str(at), 5, (at / 9, 0.0), "", f"/{at}", Look(at % 8, at % 8)) for at in range(9)]
    drawing = str(picture(drawn(spots, WIDE), WIDE, "themes"))
    assert drawing.count("<pattern") == 7
    assert drawing.count('class="hatched"') == 7
    for number in range(1, 8):
        assert f'fill="url(#map-wide-{number})"' in drawing
    assert drawing.count('class="hue-0"') == 2


@given(PLACES)
def test_every_place_lies_in_one_quarter_and_one_quarter_of_it(place: tuple[float, float]) -> None:
    parts = [part for part in QUARTERS if within(place, part)]
    assert len(parts) == 1
    inner = [parts[0] + digit for digit in QUARTERS if within(place, parts[0] + digit)]
    assert len(inner) == 1
    found = within(place, inner[0])
    assert found is not None
    assert max(map(abs, found)) <= 1
    assert within(None, inner[0]) is None


def test_parts_are_named_from_the_inner_to_the_outer() -> None:
    assert named("42") == "top right of the bottom right"
    assert within((0.9, -0.9), "4") == (0.8, -0.8)
    assert within((0.9, -0.9), "2") is None


def test_a_part_of_the_map_lists_the_themes_that_lie_in_it(themed: TestClient) -> None:
    page = read(themed, COLLECTION)
    quarters = page.links("//section[@aria-labelledby='map']//p[@class='choices']")
    listed: list[str] = []
    for href, words in quarters.items():
        part = read(themed, href)
        themes = list(part.links("//ol[@class='themes']//h3"))
        assert len(themes) == int(words.split()[-1])
        assert set(part.links("//*[contains(@class, 'map wide')]")) == set(themes)
        assert part.heading == page.heading
        told = themed.get(f"/api{href.partition('#')[0]}").json()
        assert (told["themes_listed"], told["themes_total"]) == (len(themes), 5)
        assert "the whole map" in part.links("//section[@aria-labelledby='map']").values()
        listed += themes
    assert sorted(listed) == sorted(page.links("//ol[@class='themes']//h3"))
    inner = [f"{COLLECTION}?part={one}{other}" for one in QUARTERS for other in QUARTERS]
    pages = [read(themed, href) for href in inner]
    assert sum(len(one.tree.xpath("//ol[@class='themes']/li")) for one in pages) == 5
    assert any("No theme lies at the" in one.words() for one in pages)
    for refused in ("5", "111", "x"):
        assert themed.get(f"{COLLECTION}?part={refused}").status_code == 400
