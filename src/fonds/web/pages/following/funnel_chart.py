"""How far the links of a source came, as SVG beside words: announced, entered, fetched, kept."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from fonds.pipelines import stages_of
from fonds.sources.following.funnel import Funnel
from fonds.web.charts import share
from fonds.web.rendering import link

WIDTH, HEIGHT, BAR = 92, 32, 14
STEP = (WIDTH - BAR) / 3
SMALLEST = 1.5


@dataclass(frozen=True, slots=True)
class Reached:
    """So many links came so far; `href` opens them, of what was announced where they ended."""

    word: str
    count: int
    href: str


def reached(source_id: str, pipeline: str, found: Funnel) -> list[Reached]:
    """The funnel's counts in their order, each with its links."""
    links = f"/sources/{source_id}/links"
    first = next(iter(stages_of(pipeline)), None)
    return [
        Reached("announced", found.announced, f"/sources/{source_id}#ended"),
        Reached("entered", found.entered, links),
        Reached("fetched", found.fetched, link(links, beyond=first) if first else ""),
        Reached("kept", found.kept, link(links, outcome="done")),
    ]


def coverage(found: Funnel) -> str | None:
    """The share that was kept, in words; None where nothing was announced."""
    return share(found.kept, found.announced) if found.announced else None


def funnel_drawn(found: Funnel) -> Markup:
    """A bar for each count, as high as its share of what was announced, and what links them; it is hidden
    from who hears the words beside it. What is not 0 is seen."""
    counts = (found.announced, found.entered, found.fetched, found.kept)
    highs = [_height(count, found.announced) for count in counts]
    bars, between = [], []
    for place, high in enumerate(highs):
        left = place * STEP
        if high:
            bars.append(f"M{left:g} {(HEIGHT - high) / 2:.1f}h{BAR}v{high:.1f}h-{BAR}z")
        if place and highs[place - 1]:
            before, start = highs[place - 1], left - STEP + BAR
            between.append(
                f"M{start:g} {(HEIGHT - before) / 2:.1f}L{left:g} {(HEIGHT - high) / 2:.1f}"
                f"v{high:.1f}L{start:g} {(HEIGHT + before) / 2:.1f}z"
            )
    return Markup(
        '<svg class="funnel" viewBox="0 0 {w} {h}" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="between" d="{between}"/><path class="bar" d="{bars}"/></svg>'
    ).format(w=WIDTH, h=HEIGHT, between="".join(between), bars="".join(bars))


def _height(count: int, whole: int) -> float:
    return max(SMALLEST, HEIGHT * count / whole) if count > 0 else 0.0
