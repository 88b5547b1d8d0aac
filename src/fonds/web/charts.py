"""Charts: data -> SVG. Colours come by class from the style sheet; each says itself in words too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

HISTOGRAM_HEIGHT, BUCKET_WIDTH, ALONE_WIDTH = 100, 10, 40
SPARK_WIDTH, SPARK_HEIGHT = 10, 120
SMALLEST = 3.0


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
    """Link for the pointer. It is no tab stop: the date form beside the chart opens the same rows."""
    if not href:
        return Markup("<g><title>{}</title>{}</g>").format(title, inner)
    return Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(href, title, inner)


def _number(count: int) -> str:
    return f"{count:,}"


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
