"""Bar chart of one theme over the periods that all charts of the page share, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

HEIGHT, STEP, ALONE = 60, 10, 40
SMALLEST = 2.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A period: `value` of the bar, None where nothing of the collection is dated then; `said` in words."""

    value: float | None
    said: str
    href: str


def multiple(number: int, bars: Sequence[Bar], most: float, title: str, said: str) -> Markup:
    """The bars, as high as `most` at the most, stretched to the width there is. Periods of which nothing is
    known are hatched. `number` tells the pictures of a page apart."""
    width = STEP * len(bars) if len(bars) > 1 else ALONE
    name = f"multiple-{number}"
    pieces = [
        Markup(
            '<svg class="multiple" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="{n}-title {n}-desc"><title id="{n}-title">{title}</title>'
            '<desc id="{n}-desc">{said}</desc>'
            '<pattern id="{n}-hatch" width="5" height="5" patternUnits="userSpaceOnUse">'
            '<path class="hatch" d="M0,5 L5,0"/></pattern>'
        ).format(w=width, h=HEIGHT, n=name, title=title, said=said)
    ]
    step = width if len(bars) == 1 else STEP
    pieces += [_bar(name, at * step, step, bar, most) for at, bar in enumerate(bars)]
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def _bar(name: str, x: int, step: int, bar: Bar, most: float) -> Markup:
    if bar.value is None:
        return Markup(
            '<rect class="nothing" x="{}" y="0" width="{}" height="{}" fill="url(#{}-hatch)">'
            "<title>{}</title></rect>"
        ).format(x, step, HEIGHT, name, bar.said)
    if bar.value <= 0:
        return Markup("")
    height = min(HEIGHT, max(SMALLEST, HEIGHT * bar.value / most))
    return Markup(
        '<a href="{}" tabindex="-1"><title>{}</title>'
        '<rect class="hit" x="{}" y="0" width="{}" height="{}"/>'
        '<rect class="bar" x="{:g}" y="{:.1f}" width="{:g}" height="{:.1f}"/></a>'
    ).format(
        bar.href, bar.said, x, step, HEIGHT, x + step * 0.075, HEIGHT - height, step * 0.85, height
    )
