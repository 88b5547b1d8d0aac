"""The pictures: what they show, where they lead, and that no text can break out of them."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from fonds.web.html.charts import (
    HISTOGRAM_HEIGHT,
    HistogramBar,
    draw_histogram,
    draw_meter,
    draw_sparkline,
    format_share,
)

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: object) -> ElementTree.Element:
    """The drawing as XML: it must be well-formed even with the namespace a page leaves out."""
    return ElementTree.fromstring(
        str(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    )


def test_links_in_pictures_are_no_tab_stops() -> None:
    bucket = HistogramBar("May 2021", 3, "/search?from=2021-05-01")
    drawing = parsed(draw_histogram([bucket], "Dates"))
    assert {one.attrib["tabindex"] for one in drawing.iter(f"{SVG}a")} == {"-1"}


def test_empty_months_have_no_bar_and_keep_their_place() -> None:
    buckets = [
        HistogramBar("Jan", 10, "/jan"),
        HistogramBar("Feb", 0, "/feb"),
        HistogramBar("Mar", 5, "/mar"),
    ]
    drawing = parsed(draw_histogram(buckets, "Dates"))
    bars = [one for one in drawing.iter(f"{SVG}rect") if one.attrib["class"] == "bar"]
    assert [bar.attrib["x"] for bar in bars] == ["0.75", "20.75"]
    assert [float(bar.attrib["height"]) for bar in bars] == [HISTOGRAM_HEIGHT, HISTOGRAM_HEIGHT / 2]


def test_a_histogram_of_nothing_is_still_a_drawing() -> None:
    assert parsed(draw_histogram([], "Dates")).findtext(f"{SVG}desc") == "No dates"


def test_small_bars_stand_as_high_as_they_count_and_nothing_lies_on_the_ground() -> None:
    drawn = ElementTree.fromstring(str(draw_sparkline([0, 3, 6, 1_000], "kept")))
    bars, ground = ((path.get("d") or "").split("z")[:-1] for path in drawn)
    assert [bar.split("h")[0] for bar in bars] == [
        "M10.75 120v-8.0",
        "M20.75 120v-8.0",
        "M30.75 120v-120.0",
    ]
    assert [mark.split("v")[0] for mark in ground] == ["M0.75 120"]
    assert drawn.get("aria-hidden") == "true"


def test_a_share_is_never_rounded_to_nothing_or_to_everything() -> None:
    assert format_share(0, 10) == "0 %"
    assert format_share(10, 10) == "100 %"
    assert format_share(1, 1_000_000) == "under 0.1 %"
    assert format_share(999_999, 1_000_000) == "99.9 %"
    assert format_share(1, 3) == "33.3 %"
    assert format_share(0, 0) == "0 %"


def test_a_meter_of_something_is_never_empty() -> None:
    assert 'width="1.0"' in draw_meter(1, 1_000_000)
    assert 'width="0.0"' in draw_meter(0, 10)


@settings(deadline=None)
@given(st.text(), st.integers(0, 10**12))
def test_hostile_labels_stay_text(label: str, count: int) -> None:
    label = "".join(c for c in label if c.isprintable()) + "</text><script>alert(1)</script>\"'&"
    drawing = draw_histogram([HistogramBar(label, count, label)], label)
    tags = {one.tag.removeprefix(SVG) for one in parsed(drawing).iter()}
    assert tags <= {"svg", "title", "desc", "a", "g", "rect"}
