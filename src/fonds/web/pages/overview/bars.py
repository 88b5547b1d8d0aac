"""Bars over time as SVG, stacked by tone and stretched to the width there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

HEIGHT, BAR_WIDTH, GAP = 120, 10, 1.5
SMALLEST, EMPTY = 2.0, 1.0


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar: `label` says in words what it shows; `parts` are (tone, count) from the foot up."""

    label: str
    href: str
    parts: Sequence[tuple[str, int]]

    @property
    def count(self) -> int:
        """The height of the whole."""
        return sum(count for _, count in self.parts)


def stacks(bars: Sequence[Stack], title: str, desc: str) -> Markup:
    """Stacked bars of one scale. What is not 0 is drawn at least 2 of 120 units high; where nothing is, a
    mark lies on the ground. Links are no tab stops: the date form below opens the same records."""
    most = max((bar.count for bar in bars), default=0)
    pieces = [
        Markup(
            '<svg class="stacks" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="stacks-title stacks-desc">'
            '<title id="stacks-title">{title}</title><desc id="stacks-desc">{desc}</desc>'
        ).format(w=BAR_WIDTH * len(bars), h=HEIGHT, title=title, desc=desc)
    ]
    for position, bar in enumerate(bars):
        inner = _hit(position) + (_parts(bar, position, most) if bar.count else _empty(position))
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
def _hit(position: int) -> Markup:
    return Markup('<rect class="hit" x="{}" y="0" width="{}" height="{}"/>').format(
        position * BAR_WIDTH, BAR_WIDTH, HEIGHT
    )


@lru_cache(maxsize=400)
def _empty(position: int) -> Markup:
    return _rect("track", position, HEIGHT - EMPTY, EMPTY)


def _parts(bar: Stack, position: int, most: int) -> Markup:
    heights = [
        (tone, max(SMALLEST, HEIGHT * count / most)) for tone, count in bar.parts if count > 0
    ]
    # What is drawn larger to be seen must not push the bar out of the picture.
    scale = min(1.0, HEIGHT / sum(height for _, height in heights))
    pieces, top = [], float(HEIGHT)
    for tone, height in heights:
        top -= height * scale
        pieces.append(_rect(f"bar {tone}", position, top, height * scale))
    return Markup("").join(pieces)


def _rect(kind: str, position: int, top: float, height: float) -> Markup:
    return Markup(
        '<rect class="{kind}" x="{x:g}" y="{y:.1f}" width="{w:g}" height="{h:.1f}"/>'
    ).format(
        kind=kind, x=position * BAR_WIDTH + GAP / 2, y=top, w=BAR_WIDTH - GAP, h=height,
    )  # fmt: skip
