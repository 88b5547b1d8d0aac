"""Charts: data -> SVG. Colours come by class from the style sheet; each says itself in words too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

FLOW_WIDTH = 840
FLOW_HEIGHT = 260
TARGET_X, BAR_WIDTH, PARTS_X = 400, 14, 160
HEAD_HEIGHT = 30
LINE_HEIGHT, BAND_GAP, PARTS_SHOWN = 21, 18, 6
STRIP_WIDTH, STRIP_ROW = 320, 46
HISTOGRAM_HEIGHT, BUCKET_WIDTH, ALONE_WIDTH = 100, 10, 40
SPARK_WIDTH, SPARK_HEIGHT = 10, 120
SMALLEST = 3.0


@dataclass(frozen=True, slots=True)
class Segment:
    """A reason within a band; `href` opens its rows."""

    label: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Band:
    """One outcome: `tone` names its colour in the style sheet."""

    label: str
    count: int
    tone: str
    href: str
    parts: Sequence[Segment] = ()


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bar of the histogram; `label` is its time in words, `href` empty where it opens nothing."""

    label: str
    count: int
    href: str


def share(count: int, whole: int) -> str:
    """A percentage for people: never 0 % of something, never 100 % of not all."""
    if whole <= 0 or count <= 0:
        return "0 %"
    if count >= whole:
        return "100 %"
    percent = 100 * count / whole
    if percent < 0.1:
        return "under 0.1 %"
    return f"{min(percent, 99.9):.1f} %"


def _open(kind: str, width: float, height: float, title: str, desc: str, extra: str = "") -> Markup:
    return Markup(
        '<svg class="{kind}" viewBox="0 0 {w:g} {h:g}" role="group"{extra} '
        'aria-labelledby="{kind}-title {kind}-desc">'
        '<title id="{kind}-title">{title}</title><desc id="{kind}-desc">{desc}</desc>'
    ).format(kind=kind, w=width, h=height, title=title, desc=desc, extra=Markup(extra))  # noqa: S704


def _link(href: str, title: str, inner: Markup) -> Markup:
    """A link for the pointer; keyboards have the same links in the table beside, so it takes no stop."""
    if not href:
        return Markup("<g><title>{}</title>{}</g>").format(title, inner)
    return Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(href, title, inner)


def _number(count: int) -> str:
    return f"{count:,}"


def describe(received: int, bands: Sequence[Band]) -> str:
    """The picture as a sentence."""
    said = ", ".join(f"{_number(b.count)} {b.label.lower()}" for b in bands)
    return f"Of {_number(received)} records that came in: {said}."


def flow(received: int, bands: Sequence[Band]) -> Markup:
    """What came in on the left, its outcomes on the right, ribbons as wide as their counts.

    Bands without records are left out; a ribbon is at least 3 units wide, so that none is invisible.
    """
    shown = [band for band in bands if band.count > 0]
    heights = [max(SMALLEST, FLOW_HEIGHT * band.count / max(received, 1)) for band in shown]
    slots = [
        max(height, LINE_HEIGHT * max(1, min(len(band.parts), PARTS_SHOWN + 1)))
        for band, height in zip(shown, heights, strict=True)
    ]
    total = sum(slots) + BAND_GAP * max(0, len(slots) - 1)
    source_y = float(HEAD_HEIGHT)
    pieces = [
        _open(
            "flow",
            FLOW_WIDTH,
            HEAD_HEIGHT + total,
            "What became of everything",
            describe(received, bands),
        )
    ]
    pieces.append(_source(received, source_y, sum(heights)))
    top = float(HEAD_HEIGHT)
    for band, height, slot in zip(shown, heights, slots, strict=True):
        target_y = top + (slot - height) / 2
        pieces.append(_ribbon(band, source_y, target_y, height))
        pieces.append(_labels(band, received, top, slot))
        source_y += height
        top += slot + BAND_GAP
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def _source(received: int, y: float, height: float) -> Markup:
    return Markup(
        '<text x="0" y="{ty:.1f}"><tspan class="strong">{n}</tspan> came in</text>'
        '<rect class="bar source" x="0" y="{y:.1f}" width="{w}" height="{h:.1f}"/>'
    ).format(ty=y - 11, n=_number(received), y=y, w=BAR_WIDTH, h=height)


def _ribbon(band: Band, source_y: float, target_y: float, height: float) -> Markup:
    left, right = BAR_WIDTH, TARGET_X
    bend = (left + right) / 2
    path = (
        f"M{left},{source_y:.1f} C{bend:g},{source_y:.1f} {bend:g},{target_y:.1f} {right},{target_y:.1f} "
        f"V{target_y + height:.1f} C{bend:g},{target_y + height:.1f} {bend:g},{source_y + height:.1f} "
        f"{left},{source_y + height:.1f} Z"
    )
    inner = Markup(
        '<path class="ribbon {tone}" d="{path}"/>'
        '<rect class="bar {tone}" x="{x}" y="{y:.1f}" width="{w}" height="{h:.1f}"/>'
    ).format(
        tone=band.tone, path=path, x=TARGET_X, y=target_y, w=BAR_WIDTH, h=height,
    )  # fmt: skip
    return _link(band.href, f"{band.label}: {_number(band.count)} records", inner)


def _labels(band: Band, received: int, top: float, slot: float) -> Markup:
    middle = top + slot / 2
    x = TARGET_X + BAR_WIDTH + 12
    name = Markup(
        '<text class="{tone}" x="{x}" y="{y:.1f}" dominant-baseline="central">'
        '<tspan class="strong">{n}</tspan> {label}</text>'
    ).format(tone=band.tone, x=x, y=middle, n=_number(band.count), label=band.label.lower())
    pieces = [
        _link(
            band.href, f"{band.label}: {_number(band.count)}, {share(band.count, received)}", name
        )
    ]
    parts = _shown_parts(band)
    first = middle - LINE_HEIGHT * (len(parts) - 1) / 2
    for line, part in enumerate(parts):
        text = Markup(
            '<text class="part" x="{x}" y="{y:.1f}" dominant-baseline="central">'
            '<tspan class="strong">{n}</tspan> {label}</text>'
        ).format(
            x=x + PARTS_X, y=first + LINE_HEIGHT * line, n=_number(part.count), label=part.label
        )
        pieces.append(_link(part.href, f"{part.label}: {_number(part.count)}", text))
    return Markup("").join(pieces)


def _shown_parts(band: Band) -> list[Segment]:
    if len(band.parts) <= PARTS_SHOWN + 1:
        return list(band.parts)
    rest = band.parts[PARTS_SHOWN:]
    other = Segment(f"for {len(rest)} other reasons", sum(part.count for part in rest), band.href)
    return [*band.parts[:PARTS_SHOWN], other]


def strip(received: int, bands: Sequence[Band]) -> Markup:
    """The same for narrow screens: one bar under the other, all of one scale."""
    height = STRIP_ROW * len(bands)
    pieces = [
        _open("strip", STRIP_WIDTH, height, "What became of everything", describe(received, bands))
    ]
    for row, band in enumerate(bands):
        top = STRIP_ROW * row
        width = STRIP_WIDTH * band.count / max(received, 1)
        inner = Markup(
            '<text class="{tone}" x="0" y="{ty}">{label}</text>'
            '<text class="strong {tone}" x="{w}" y="{ty}" text-anchor="end">{n}</text>'
            '<rect class="track" x="0" y="{by}" width="{w}" height="10"/>'
            '<rect class="bar {tone}" x="0" y="{by}" width="{bw:.1f}" height="10"/>'
        ).format(
            tone=band.tone, ty=top + 18, by=top + 26, w=STRIP_WIDTH, label=band.label,
            n=_number(band.count), bw=max(SMALLEST, width) if band.count else 0,
        )  # fmt: skip
        pieces.append(_link(band.href, f"{band.label}: {_number(band.count)}", inner))
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def histogram(buckets: Sequence[Bucket], title: str) -> Markup:
    """Bars over time, stretched to the width there is; the axis' words stand beside it in HTML."""
    width = BUCKET_WIDTH * len(buckets) if len(buckets) > 1 else ALONE_WIDTH
    most = max((bucket.count for bucket in buckets), default=0)
    desc = "; ".join(f"{b.label}: {_number(b.count)}" for b in buckets if b.count)
    pieces = [
        _open(
            "histogram", width, HISTOGRAM_HEIGHT, title, desc or "No dates.",
            ' preserveAspectRatio="none"',
        )
    ]  # fmt: skip
    for position, bucket in enumerate(buckets):
        if bucket.count <= 0:
            continue
        height = max(SMALLEST, HISTOGRAM_HEIGHT * bucket.count / most)
        said = f"{bucket.label}: {_number(bucket.count)}"
        inner = Markup(
            '<rect class="hit" x="{x}" y="0" width="{w}" height="{whole}"/>'
            '<rect class="bar" x="{bx:g}" y="{y:.1f}" width="{bw:g}" height="{h:.1f}"/>'
        ).format(
            x=position * BUCKET_WIDTH, w=BUCKET_WIDTH, whole=HISTOGRAM_HEIGHT,
            bx=position * BUCKET_WIDTH + 0.75, bw=BUCKET_WIDTH - 1.5,
            y=HISTOGRAM_HEIGHT - height, h=height,
        )  # fmt: skip
        pieces.append(_link(bucket.href, said, inner))
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def meter(count: int, whole: int) -> Markup:
    """A hairline bar beside a number that says the same."""
    width = 100 * count / whole if whole > 0 else 0.0
    return Markup(
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="6"/><rect class="bar" width="{:.1f}" height="6"/></svg>'
    ).format(max(1.0, width) if count else 0.0)


def sparks(counts: Sequence[int], tone: str) -> Markup:
    """Small bars above words that say the same, hidden from who hears these. What is not 0 is seen; where
    nothing is, a mark lies on the ground."""
    most = max(counts, default=0)
    bars, ground = [], []
    for position, count in enumerate(counts):
        left = position * SPARK_WIDTH + 0.75
        if count > 0:
            height = max(8.0, SPARK_HEIGHT * count / most)
            bars.append(f"M{left:g} {SPARK_HEIGHT}v-{height:.1f}h8.5V{SPARK_HEIGHT}z")
        else:
            ground.append(f"M{left:g} {SPARK_HEIGHT}v-4h8.5v4z")
    return Markup(
        '<svg class="sparks {tone}" viewBox="0 0 {w} {h}" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="bar" d="{bars}"/><path class="track" d="{ground}"/></svg>'
    ).format(
        tone=tone, w=SPARK_WIDTH * max(1, len(counts)), h=SPARK_HEIGHT, bars="".join(bars),
        ground="".join(ground),
    )  # fmt: skip
