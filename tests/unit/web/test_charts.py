"""The pictures: what they show, where they lead, and that no text can break out of them."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from fonds.web.charts import (
    HISTOGRAM_HEIGHT,
    PARTS_SHOWN,
    SMALLEST,
    Band,
    Bucket,
    Segment,
    flow,
    histogram,
    meter,
    share,
    sparks,
    strip,
)

SVG = "{http://www.w3.org/2000/svg}"
BANDS = [
    Band("Kept", 900, "kept", "/records?outcome=done"),
    Band(
        "Refused",
        99,
        "refused",
        "/records?weight=refused",
        [Segment("no-text", 99, "/records?reason=no-text")],
    ),
    Band(
        "Failed",
        1,
        "failed",
        "/records?weight=failed",
        [Segment("timeout", 1, "/records?reason=timeout")],
    ),
    Band("In flight", 0, "flight", "/records?outcome=pending"),
]


def parsed(svg: object) -> ElementTree.Element:
    """The drawing as XML: it must be well-formed even with the namespace a page leaves out."""
    return ElementTree.fromstring(
        str(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    )


def links(svg: object) -> list[str]:
    return [one.attrib["href"] for one in parsed(svg).iter(f"{SVG}a")]


def test_the_flow_says_in_words_what_it_draws() -> None:
    drawing = parsed(flow(1000, BANDS))
    assert drawing.findtext(f"{SVG}title") == "What became of everything"
    assert drawing.findtext(f"{SVG}desc") == (
        "Of 1,000 records that came in: 900 kept, 99 refused, 1 failed, 0 in flight."
    )


def test_every_number_of_the_flow_is_a_link_to_its_rows() -> None:
    assert set(links(flow(1000, BANDS))) == {
        "/records?outcome=done",
        "/records?weight=refused",
        "/records?reason=no-text",
        "/records?weight=failed",
        "/records?reason=timeout",
    }


def test_bars_are_as_high_as_their_counts_and_one_record_can_still_be_seen() -> None:
    bars = [
        one
        for one in parsed(flow(1000, BANDS)).iter(f"{SVG}rect")
        if one.attrib["class"] != "bar source"
    ]
    kept, refused, failed = (float(one.attrib["height"]) for one in bars)
    assert 8.9 < kept / refused < 9.2
    assert failed == SMALLEST


def test_the_left_bar_is_as_high_as_all_right_bars_together() -> None:
    heights = [float(one.attrib["height"]) for one in parsed(flow(1000, BANDS)).iter(f"{SVG}rect")]
    assert abs(heights[0] - sum(heights[1:])) < 0.2


def test_many_reasons_are_summed_up_so_that_none_is_lost() -> None:
    parts = [Segment(f"reason-{n}", 10, f"/r{n}") for n in range(12)]
    drawing = parsed(flow(120, [Band("Failed", 120, "failed", "/all", parts)]))
    words = ["".join(one.itertext()) for one in drawing.iter(f"{SVG}text")]
    assert f"{10 * (12 - PARTS_SHOWN)} for {12 - PARTS_SHOWN} other reasons" in words


def test_the_strip_shows_outcomes_without_records_as_zero() -> None:
    words = ["".join(one.itertext()) for one in parsed(strip(1000, BANDS)).iter(f"{SVG}text")]
    assert words == ["Kept", "900", "Refused", "99", "Failed", "1", "In flight", "0"]


def test_links_in_pictures_are_no_tab_stops() -> None:
    bucket = Bucket("May 2021", 3, "/search?from=2021-05-01")
    for drawing in (flow(1000, BANDS), strip(1000, BANDS), histogram([bucket], "Dates")):
        assert {one.attrib["tabindex"] for one in parsed(drawing).iter(f"{SVG}a")} == {"-1"}


def test_empty_months_have_no_bar_and_keep_their_place() -> None:
    buckets = [Bucket("Jan", 10, "/jan"), Bucket("Feb", 0, "/feb"), Bucket("Mar", 5, "/mar")]
    drawing = parsed(histogram(buckets, "Dates"))
    bars = [one for one in drawing.iter(f"{SVG}rect") if one.attrib["class"] == "bar"]
    assert [one.attrib["x"] for one in bars] == ["0.75", "20.75"]
    assert [float(one.attrib["height"]) for one in bars] == [HISTOGRAM_HEIGHT, HISTOGRAM_HEIGHT / 2]


def test_a_histogram_of_nothing_is_still_a_drawing() -> None:
    assert parsed(histogram([], "Dates")).findtext(f"{SVG}desc") == "No dates."


def test_small_bars_stand_as_high_as_they_count_and_nothing_lies_on_the_ground() -> None:
    drawn = ElementTree.fromstring(str(sparks([0, 3, 6, 1_000], "kept")))
    bars, ground = ((path.get("d") or "").split("z")[:-1] for path in drawn)
    assert [bar.split("h")[0] for bar in bars] == [
        "M10.75 120v-8.0",
        "M20.75 120v-8.0",
        "M30.75 120v-120.0",
    ]
    assert [mark.split("v")[0] for mark in ground] == ["M0.75 120"]
    assert drawn.get("aria-hidden") == "true"


def test_a_share_is_never_rounded_to_nothing_or_to_everything() -> None:
    assert share(0, 10) == "0 %"
    assert share(10, 10) == "100 %"
    assert share(1, 1_000_000) == "under 0.1 %"
    assert share(999_999, 1_000_000) == "99.9 %"
    assert share(1, 3) == "33.3 %"
    assert share(0, 0) == "0 %"


def test_a_meter_of_something_is_never_empty() -> None:
    assert 'width="1.0"' in meter(1, 1_000_000)
    assert 'width="0.0"' in meter(0, 10)


@settings(deadline=None)
@given(st.text(), st.integers(0, 10**12), st.integers(0, 10**12))
def test_hostile_labels_stay_text(label: str, count: int, more: int) -> None:
    label = "".join(c for c in label if c.isprintable()) + "</text><script>alert(1)</script>\"'&"
    band = Band(label, count, "kept", f"/x?{label}", [Segment(label, count, f"/y?{label}")])
    drawings = (
        flow(count + more, [band]),
        strip(count + more, [band]),
        histogram([Bucket(label, count, label)], label),
    )
    for drawing in drawings:
        tags = {one.tag.removeprefix(SVG) for one in parsed(drawing).iter()}
        assert tags <= {"svg", "title", "desc", "a", "g", "rect", "path", "text", "tspan"}
