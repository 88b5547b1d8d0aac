"""SVG charts: histograms, meters, sparklines, stacked bars, and the periods they show.

Colours come from CSS classes. Every chart is also described in text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from markupsafe import Markup

HISTOGRAM_HEIGHT, BUCKET_WIDTH, ONE_BUCKET_WIDTH = 100, 10, 40
SPARK_WIDTH, SPARK_HEIGHT = 10, 120
SMALLEST = 3.0


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


def _open(kind: str, width: float, height: float, title: str, desc: str, extra: str = "") -> Markup:
    return Markup(
        '<svg class="{kind}" viewBox="0 0 {w:g} {h:g}" role="group"{extra} '
        'aria-labelledby="{kind}-title {kind}-desc">'
        '<title id="{kind}-title">{title}</title><desc id="{kind}-desc">{desc}</desc>'
    ).format(kind=kind, w=width, h=height, title=title, desc=desc, extra=Markup(extra))  # noqa: S704


def _build_link(href: str, title: str, inner: Markup) -> Markup:
    """Make an SVG shape a link with a tooltip; without `href`, a shape with a tooltip.

    The link is not a tab stop: the date form next to the chart opens the same records.
    """
    if not href:
        return Markup("<g><title>{}</title>{}</g>").format(title, inner)
    return Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(href, title, inner)


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
        _open(
            "histogram", width, HISTOGRAM_HEIGHT, title, desc or "No dates",
            ' preserveAspectRatio="none"',
        )
    ]  # fmt: skip
    for position, bucket in enumerate(buckets):
        if bucket.count <= 0:
            continue
        height = max(SMALLEST, HISTOGRAM_HEIGHT * bucket.count / count_max)
        title_text = f"{bucket.label}: {_format_number(bucket.count)}"
        inner = Markup(
            '<rect class="hit" x="{x}" y="0" width="{w}" height="{whole}"/>'
            '<rect class="bar" x="{bx:g}" y="{y:.1f}" width="{bw:g}" height="{h:.1f}"/>'
        ).format(
            x=position * BUCKET_WIDTH, w=BUCKET_WIDTH, whole=HISTOGRAM_HEIGHT,
            bx=position * BUCKET_WIDTH + 0.75, bw=BUCKET_WIDTH - 1.5,
            y=HISTOGRAM_HEIGHT - height, h=height,
        )  # fmt: skip
        pieces.append(_build_link(bucket.href, title_text, inner))
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
    bars, ground = [], []
    for position, count in enumerate(counts):
        left = position * SPARK_WIDTH + 0.75
        if count > 0:
            height = max(8.0, SPARK_HEIGHT * count / count_max)
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


# Stacked bars over time, stretched to the available width.


HEIGHT, BAR_WIDTH, GAP = 120, 10, 1.5
DAY_BAR_SMALLEST, EMPTY = 2.0, 1.0


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
        ).format(w=BAR_WIDTH * len(bars), h=HEIGHT, title=title, desc=desc)
    ]
    for position, bar in enumerate(bars):
        inner = _draw_hit(position) + (
            _draw_parts(bar, position, count_max) if bar.count else _draw_empty(position)
        )
        if bar.href:
            pieces.append(
                Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(
                    bar.href, bar.label, inner
                )
            )
        else:
            pieces.append(Markup("<g><title>{}</title>{}</g>").format(bar.label, inner))
    return Markup("").join([*pieces, Markup("</svg>")])


@lru_cache(maxsize=400)
def _draw_hit(position: int) -> Markup:
    return Markup('<rect class="hit" x="{}" y="0" width="{}" height="{}"/>').format(
        position * BAR_WIDTH, BAR_WIDTH, HEIGHT
    )


@lru_cache(maxsize=400)
def _draw_empty(position: int) -> Markup:
    return _draw_rect("track", position, HEIGHT - EMPTY, EMPTY)


def _draw_parts(bar: StackedBar, position: int, count_max: int) -> Markup:
    heights = [
        (tone, max(DAY_BAR_SMALLEST, HEIGHT * count / count_max))
        for tone, count in bar.parts
        if count > 0
    ]
    # Parts that are enlarged to be visible must not push the bar out of the chart.
    scale = min(1.0, HEIGHT / sum(height for _, height in heights))
    pieces, top = [], float(HEIGHT)
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


# Periods of a readable histogram from counts by month: equal lengths, gaps included, at most 72.


PERIODS_MAX = 72
LENGTHS = (1, 12, 120, 1200)
MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Period:
    """Period from day `first` to day `last`, both inclusive, and the number of documents dated in
    it.
    """

    label: str
    first: date
    last: date
    count: int


def build_periods(
    months: Sequence[tuple[str, int]], earliest: date | None = None, latest: date | None = None
) -> list[Period]:
    """Sum up counts by month into equal periods of a month, year, decade or century, from the first
    counted month to the last.

    `months`: (YYYY-MM, count). Invalid months are left out.
    `earliest`, `latest`: date limits of the search, None for no limit. No period extends beyond
        these limits.
    """
    counts = {month: n for text, n in months if (month := _parse_month(text)) is not None and n > 0}
    if not counts:
        return []
    first, last = min(counts), max(counts)
    length = next(
        (candidate for candidate in LENGTHS if (last - first) // candidate + 1 <= PERIODS_MAX),
        LENGTHS[-1],
    )
    start = first - first % length
    totals: Counter[int] = Counter()
    for month, n in counts.items():
        totals[(month - start) // length] += n
    return [
        _build_period(begin, length, totals[number], earliest, latest)
        for number, begin in enumerate(range(start, last + 1, length))
    ]


def build_spans(counts: Mapping[date, int]) -> list[Period]:
    """Build periods from the numbers of documents by day.

    The periods are days if that gives at most 72 periods, otherwise months, years, decades or
    centuries.
    """
    nonzero_counts = {day: n for day, n in counts.items() if n > 0}
    if not nonzero_counts:
        return []
    first, last = min(nonzero_counts), max(nonzero_counts)
    if (last - first).days < PERIODS_MAX:
        all_days = (first + timedelta(days=index) for index in range((last - first).days + 1))
        return [Period(f"{day:%Y-%m-%d}", day, day, nonzero_counts.get(day, 0)) for day in all_days]
    months: Counter[str] = Counter()
    for day, n in nonzero_counts.items():
        months[f"{day.year:04}-{day.month:02}"] += n
    return build_periods(list(months.items()), first, last)


def _parse_month(text: str) -> int | None:
    """Return the number of months from year 0 to `text` (YYYY-MM), None if it is no calendar
    month.
    """
    year, dash, month = text.partition("-")
    if not (dash and len(year) == 4 and len(month) == 2 and text.isascii()):
        return None
    if not (year.isdigit() and month.isdigit() and year > "0000" and "01" <= month <= "12"):
        return None
    return int(year) * 12 + int(month) - 1


def _build_period(
    begin: int, length: int, count: int, earliest: date | None, latest: date | None
) -> Period:
    first, last = _get_first_day(begin), _get_last_day(begin + length - 1)
    return Period(
        _format_label(begin, length),
        max(first, earliest) if earliest else first,
        min(last, latest) if latest else last,
        count,
    )


def _get_first_day(month: int) -> date:
    return date(max(month // 12, 1), month % 12 + 1, 1)


def _get_last_day(month: int) -> date:
    next_month = month + 1
    return date.max if next_month // 12 > 9999 else _get_first_day(next_month) - timedelta(days=1)


def _format_label(begin: int, length: int) -> str:
    year = begin // 12
    if length == 1:
        return f"{MONTH_NAMES[begin % 12]} {year}"
    return str(year) if length == 12 else f"{year}–{year + length // 12 - 1}"
