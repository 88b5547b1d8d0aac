"""SVG charts: histograms, meters, sparklines and stacked bars.

Colours come from CSS classes. Every chart is also described in text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

HISTOGRAM_HEIGHT, BUCKET_WIDTH, ONE_BUCKET_WIDTH = 100, 10, 40
SPARK_WIDTH, SPARK_HEIGHT = 10, 120
BAR_HEIGHT_MIN = 3.0


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """One bar of a histogram.

    `label`: the period of the bar, as text.
    `href`: address that the bar links to, '' if none.
    """

    label: str
    count: int
    href: str


def format_share(count: int, total: int) -> str:
    """Format a percentage for people: 0 % only for none, 100 % only for all."""
    if total <= 0 or count <= 0:
        return "0 %"
    if count >= total:
        return "100 %"
    percent = 100 * count / total
    if percent < 0.1:
        return "under 0.1 %"
    return f"{min(percent, 99.9):.1f} %"


def _open_svg(
    kind: str, width: float, height: float, title: str, desc: str, extra: str = ""
) -> Markup:
    return Markup(
        '<svg class="{kind}" viewBox="0 0 {w:g} {h:g}" role="group"{extra} '
        'aria-labelledby="{kind}-title {kind}-desc">'
        '<title id="{kind}-title">{title}</title><desc id="{kind}-desc">{desc}</desc>'
    ).format(kind=kind, w=width, h=height, title=title, desc=desc, extra=Markup(extra))  # noqa: S704


def _build_link(href: str, title: str, shape: Markup) -> Markup:
    """Make an SVG shape a link with a tooltip; without `href`, a shape with a tooltip.

    The link is not a tab stop: the date form next to the chart opens the same records.
    """
    if not href:
        return Markup("<g><title>{}</title>{}</g>").format(title, shape)
    return Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(href, title, shape)


def _format_number(count: int) -> str:
    return f"{count:,}"


def draw_histogram(buckets: Sequence[HistogramBar], title: str) -> Markup:
    """Draw a histogram over time as SVG, stretched to the available width.

    The axis labels are HTML next to the chart.
    """
    width = BUCKET_WIDTH * len(buckets) if len(buckets) > 1 else ONE_BUCKET_WIDTH
    count_max = max((bucket.count for bucket in buckets), default=0)
    desc = "; ".join(f"{b.label}: {_format_number(b.count)}" for b in buckets if b.count)
    pieces = [
        _open_svg(
            "histogram", width, HISTOGRAM_HEIGHT, title, desc or "No dates",
            ' preserveAspectRatio="none"',
        )
    ]  # fmt: skip
    for position, bucket in enumerate(buckets):
        if bucket.count <= 0:
            continue
        height = max(BAR_HEIGHT_MIN, HISTOGRAM_HEIGHT * bucket.count / count_max)
        title_text = f"{bucket.label}: {_format_number(bucket.count)}"
        shape = Markup(
            '<rect class="hit" x="{x}" y="0" width="{w}" height="{chart_height}"/>'
            '<rect class="bar" x="{bx:g}" y="{y:.1f}" width="{bw:g}" height="{h:.1f}"/>'
        ).format(
            x=position * BUCKET_WIDTH, w=BUCKET_WIDTH, chart_height=HISTOGRAM_HEIGHT,
            bx=position * BUCKET_WIDTH + 0.75, bw=BUCKET_WIDTH - 1.5,
            y=HISTOGRAM_HEIGHT - height, h=height,
        )  # fmt: skip
        pieces.append(_build_link(bucket.href, title_text, shape))
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def draw_meter(count: int, total: int) -> Markup:
    """Draw a thin bar for the share of `count` in `total`, next to a number with the same value."""
    width = 100 * count / total if total > 0 else 0.0
    return Markup(
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="6"/><rect class="bar" width="{:.1f}" height="6"/></svg>'
    ).format(max(1.0, width) if count else 0.0)


def draw_sparkline(counts: Sequence[int], tone: str) -> Markup:
    """Draw a small bar for each of these counts. Text below the bars has the same content; screen
    readers skip the bars.

    The highest count has the full height. Every count above 0 is visible; a 0 is a mark on the
    baseline.
    `tone`: CSS class of the bars.
    """
    count_max = max(counts, default=0)
    bars, baseline = [], []
    for position, count in enumerate(counts):
        left = position * SPARK_WIDTH + 0.75
        if count > 0:
            height = max(8.0, SPARK_HEIGHT * count / count_max)
            bars.append(f"M{left:g} {SPARK_HEIGHT}v-{height:.1f}h8.5V{SPARK_HEIGHT}z")
        else:
            baseline.append(f"M{left:g} {SPARK_HEIGHT}v-4h8.5v4z")
    return Markup(
        '<svg class="sparks {tone}" viewBox="0 0 {w} {h}" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="bar" d="{bars}"/><path class="track" d="{baseline}"/></svg>'
    ).format(
        tone=tone, w=SPARK_WIDTH * max(1, len(counts)), h=SPARK_HEIGHT, bars="".join(bars),
        baseline="".join(baseline),
    )  # fmt: skip


# Stacked bars over time, stretched to the available width.


STACKS_HEIGHT, BAR_WIDTH, GAP = 120, 10, 1.5
PART_HEIGHT_MIN, EMPTY_BAR_HEIGHT = 2.0, 1.0


@dataclass(frozen=True, slots=True)
class StackedBar:
    """One bar of a chart, stacked from several counts.

    `label`: description of the bar as text.
    `href`: address that the bar links to.
    `parts`: (CSS class, count) of each part, from the bottom up.
    """

    label: str
    href: str
    parts: Sequence[tuple[str, int]]

    @property
    def count(self) -> int:
        """Return the sum of the counts of the bar's parts."""
        return sum(count for _, count in self.parts)


def draw_stacks(bars: Sequence[StackedBar], title: str, desc: str) -> Markup:
    """Draw a chart of stacked bars, all on the same scale, as SVG.

    Parts above 0 are at least 2 of 120 units high; an empty bar is a mark on the baseline. Links
    are not tab stops: the date form below opens the same records.
    """
    count_max = max((bar.count for bar in bars), default=0)
    pieces = [
        Markup(
            '<svg class="stacks" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="stacks-title stacks-desc">'
            '<title id="stacks-title">{title}</title><desc id="stacks-desc">{desc}</desc>'
        ).format(w=BAR_WIDTH * len(bars), h=STACKS_HEIGHT, title=title, desc=desc)
    ]
    for position, bar in enumerate(bars):
        shape = _draw_hit_area(position) + (
            _draw_parts(bar, position, count_max) if bar.count else _draw_empty(position)
        )
        pieces.append(_build_link(bar.href, bar.label, shape))
    return Markup("").join([*pieces, Markup("</svg>")])


@lru_cache(maxsize=400)
def _draw_hit_area(position: int) -> Markup:
    return Markup('<rect class="hit" x="{}" y="0" width="{}" height="{}"/>').format(
        position * BAR_WIDTH, BAR_WIDTH, STACKS_HEIGHT
    )


@lru_cache(maxsize=400)
def _draw_empty(position: int) -> Markup:
    return _draw_rect("track", position, STACKS_HEIGHT - EMPTY_BAR_HEIGHT, EMPTY_BAR_HEIGHT)


def _draw_parts(bar: StackedBar, position: int, count_max: int) -> Markup:
    heights = [
        (tone, max(PART_HEIGHT_MIN, STACKS_HEIGHT * count / count_max))
        for tone, count in bar.parts
        if count > 0
    ]
    # Parts that are enlarged to be visible must not push the bar out of the chart.
    scale = min(1.0, STACKS_HEIGHT / sum(height for _, height in heights))
    pieces, top = [], float(STACKS_HEIGHT)
    for tone, height in heights:
        top -= height * scale
        pieces.append(_draw_rect(f"bar {tone}", position, top, height * scale))
    return Markup("").join(pieces)


def _draw_rect(kind: str, position: int, top: float, height: float) -> Markup:
    return Markup(
        '<rect class="{kind}" x="{x:g}" y="{y:.1f}" width="{w:g}" height="{h:.1f}"/>'
    ).format(
        kind=kind, x=position * BAR_WIDTH + GAP / 2, y=top, w=BAR_WIDTH - GAP, h=height,
    )  # fmt: skip
