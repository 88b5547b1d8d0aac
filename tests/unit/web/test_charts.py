"""The charts: what they show, where they link, and that text is escaped."""

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


def parse_drawing(svg: object) -> ElementTree.Element:
    """Parse a drawing as XML, with the namespace that the pages omit."""
    return ElementTree.fromstring(
        str(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    )


def test_links_in_charts_are_not_tab_stops() -> None:
    bucket = HistogramBar("May 2021", 3, "/search?from=2021-05-01")
    drawing = parse_drawing(draw_histogram([bucket], "Dates"))
    assert {link.attrib["tabindex"] for link in drawing.iter(f"{SVG}a")} == {"-1"}


def test_empty_months_have_no_bar_and_keep_their_place() -> None:
    buckets = [
        HistogramBar("Jan", 10, "/jan"),
        HistogramBar("Feb", 0, "/feb"),
        HistogramBar("Mar", 5, "/mar"),
    ]
    drawing = parse_drawing(draw_histogram(buckets, "Dates"))
    bars = [rect for rect in drawing.iter(f"{SVG}rect") if rect.attrib["class"] == "bar"]
    assert [bar.attrib["x"] for bar in bars] == ["0.75", "20.75"]
    assert [float(bar.attrib["height"]) for bar in bars] == [HISTOGRAM_HEIGHT, HISTOGRAM_HEIGHT / 2]


def test_an_empty_histogram_is_a_valid_drawing() -> None:
    assert parse_drawing(draw_histogram([], "Dates")).findtext(f"{SVG}desc") == "No dates"


def test_a_sparkline_draws_small_bars_visibly_and_marks_empty_ones() -> None:
    drawing = ElementTree.fromstring(str(draw_sparkline([0, 3, 6, 1_000], "kept")))
    bars, empty_marks = ((path.get("d") or "").split("z")[:-1] for path in drawing)
    assert [bar.split("h")[0] for bar in bars] == [
        "M10.75 120v-8.0",
        "M20.75 120v-8.0",
        "M30.75 120v-120.0",
    ]
    assert [mark.split("v")[0] for mark in empty_marks] == ["M0.75 120"]
    assert drawing.get("aria-hidden") == "true"


def test_a_share_is_never_rounded_to_0_or_100_percent() -> None:
    assert format_share(0, 10) == "0 %"
    assert format_share(10, 10) == "100 %"
    assert format_share(1, 1_000_000) == "under 0.1 %"
    assert format_share(999_999, 1_000_000) == "99.9 %"
    assert format_share(1, 3) == "33.3 %"
    assert format_share(0, 0) == "0 %"


def test_a_meter_of_a_small_share_is_not_empty() -> None:
    assert 'width="1.0"' in draw_meter(1, 1_000_000)
    assert 'width="0.0"' in draw_meter(0, 10)


@settings(deadline=None)
@given(st.text(), st.integers(0, 10**12))
def test_hostile_labels_are_escaped(label: str, count: int) -> None:
    label = (
        "".join(char for char in label if char.isprintable())
        + "</text><script>alert(1)</script>\"'&"
    )
    drawing = draw_histogram([HistogramBar(label, count, label)], label)
    tags = {element.tag.removeprefix(SVG) for element in parse_drawing(drawing).iter()}
    assert tags <= {"svg", "title", "desc", "a", "g", "rect"}
