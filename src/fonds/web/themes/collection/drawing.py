"""The map of themes: circles as large as the themes, where the clustering placed them, drawn apart; SVG.

The places are those kept with the clustering, which stay from one to the next as nearly as can be. Circles
that would cover each other are pushed apart, always in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from markupsafe import Markup

from fonds.model.numbers import how_many
from fonds.web.themes.collection.hues import Look

ROUNDS_MAX = 120
FILLED = 0.34
"""So much of the picture the circles cover together."""
GAP = 3.0
CHARACTER_WIDTH, LINE_HEIGHT = 7.6, 17.0
LINES_MAX, LABEL_CHARACTERS_MAX = 3, 80
CUT_CHARACTERS_MIN = 4
EDGE = 1.0
"""The line round a circle has room beside it."""
PLAIN = Look(0, 0)
HATCHING = (
    "M0,8L8,0M-2,2L2,-2M6,10L10,6",
    "M0,0L8,8M-2,6L2,10M6,-2L10,2",
    "M0,4H8",
    "M4,0V8",
    "M0,4H8M4,0V8",
    "M0,8L8,0M-2,2L2,-2M6,10L10,6M0,0L8,8M-2,6L2,10M6,-2L10,2",
    "M3,4a1,1 0 1 0 2,0a1,1 0 1 0 -2,0",
)
"""What is repeated in squares of 8 units for each hatching from 1 on."""
RADIUS_MIN = 7.0


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture's size in its own units, and how many circles it has room for."""

    kind: str
    width: float
    height: float
    circles_max: int


WIDE = Frame("wide", 1000, 560, 60)
NARROW = Frame("narrow", 330, 420, 16)


@dataclass(frozen=True, slots=True)
class Spot:
    """A theme for the map: where it lies, both between -1 and 1, its look, and `mark`: '', `new` or
    `rising`."""

    label: str
    size: int
    position: tuple[float, float]
    mark: str
    href: str
    look: Look = PLAIN


@dataclass(slots=True)
class Circle:
    """A spot drawn: its middle and radius in the picture's units."""

    spot: Spot
    x: float
    y: float
    radius: float


def drawn(spots: Sequence[Spot], frame: Frame) -> list[Circle]:
    """The largest themes as circles within the frame that do not cover each other, where there is room."""
    shown = sorted(spots, key=lambda spot: (-spot.size, spot.href))[: frame.circles_max]
    total = sum(max(spot.size, 1) for spot in shown)
    unit = math.sqrt(FILLED * frame.width * frame.height / (math.pi * max(1, total)))
    radius_max = min(frame.width, frame.height) / 3.6
    circles = []
    for spot in shown:
        radius = min(radius_max, max(RADIUS_MIN, unit * math.sqrt(max(spot.size, 1))))
        x, y = (min(1.0, max(-1.0, one)) for one in spot.position)
        circle = Circle(spot, 0.0, 0.0, radius)
        circle.x = frame.width / 2 + x * (frame.width / 2 - radius - EDGE)
        circle.y = frame.height / 2 - y * (frame.height / 2 - radius - EDGE)
        circles.append(circle)
    for _ in range(ROUNDS_MAX):
        if not _pushed(circles, frame):
            break
    return circles


def _pushed(circles: Sequence[Circle], frame: Frame) -> bool:
    """Move every pair that touches apart, the smaller one further; whether any did."""
    moved = False
    for at, one in enumerate(circles):
        for number, other in enumerate(circles[:at]):
            across, down = one.x - other.x, one.y - other.y
            away, wanted = math.hypot(across, down), one.radius + other.radius + GAP
            if away >= wanted - 0.01:
                continue
            moved = True
            if away < 0.01:
                # Two of one place part in a direction that is theirs by their order.
                turn = 2.4 * (at + number)
                across, down, away = math.cos(turn), math.sin(turn), 1.0
            push = (wanted - away) / away
            share = other.radius**2 / (one.radius**2 + other.radius**2)
            one.x, one.y = one.x + across * push * share, one.y + down * push * share
            other.x -= across * push * (1 - share)
            other.y -= down * push * (1 - share)
            _keep_within(one, frame)
            _keep_within(other, frame)
    return moved


def _keep_within(circle: Circle, frame: Frame) -> None:
    room = circle.radius + EDGE
    circle.x = min(frame.width - room, max(room, circle.x))
    circle.y = min(frame.height - room, max(room, circle.y))


def picture(circles: Sequence[Circle], frame: Frame, title: str) -> Markup:
    """The circles as SVG. A label that does not fit its circle is left to the list and the circle's title."""
    identity = f"map-{frame.kind}"
    said = "; ".join(f"{one.spot.label}: {one.spot.size:,}" for one in circles)
    pieces = [
        Markup(
            '<svg class="map {kind}" viewBox="0 0 {w:g} {h:g}" role="group" '
            'aria-labelledby="{id}-title {id}-desc"><title id="{id}-title">{title}</title>'
            '<desc id="{id}-desc">{said}</desc>'
        ).format(
            kind=frame.kind, w=frame.width, h=frame.height, id=identity, title=title, said=said
        )
    ]
    pieces += [_hatching(identity, number) for number in _hatched(circles)]
    pieces += [_linked(one, identity) for one in circles]
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def _hatched(circles: Sequence[Circle]) -> list[int]:
    return sorted({one.spot.look.hatching for one in circles} - {0})


def _hatching(identity: str, number: int) -> Markup:
    return Markup(
        '<pattern id="{}-{}" width="8" height="8" patternUnits="userSpaceOnUse"><path d="{}"/></pattern>'
    ).format(identity, number, HATCHING[number - 1])


def _over(one: Circle, identity: str) -> Markup:
    """The hatching of a circle, nothing for none."""
    if not one.spot.look.hatching:
        return Markup("")
    return Markup(
        '<path class="hatched" fill="url(#{}-{})" d="M{:.1f},{:.1f}a{r:.1f},{r:.1f} 0 1 0 {w:.1f},0'
        'a{r:.1f},{r:.1f} 0 1 0 -{w:.1f},0"/>'
    ).format(
        identity, one.spot.look.hatching, one.x - one.radius, one.y, r=one.radius, w=2 * one.radius
    )


def _linked(one: Circle, identity: str) -> Markup:
    spot = one.spot
    mark = f", {spot.mark}" if spot.mark else ""
    title = f"{spot.label}: {how_many(spot.size, 'document')}{mark}"
    lines = fitted(spot.label, one.radius)
    if lines and one.radius > LINE_HEIGHT * (len(lines) + 1.5):
        lines.append(f"{spot.size:,}")
    top = one.y - LINE_HEIGHT * (len(lines) - 1) / 2
    words = Markup("").join(
        Markup('<tspan x="{:.1f}" y="{:.1f}">{}</tspan>').format(
            one.x, top + LINE_HEIGHT * at, line
        )
        for at, line in enumerate(lines)
    )
    text = (
        Markup('<text text-anchor="middle" dominant-baseline="central">{}</text>').format(words)
        if lines
        else Markup("")
    )
    return Markup(
        '<a href="{}" tabindex="-1"><title>{}</title>'
        '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>{}{}</a>'
    ).format(
        spot.href, title, f"hue-{spot.look.hue} {spot.mark}".strip(), one.x, one.y, one.radius,
        _over(one, identity), text,
    )  # fmt: skip


def fitted(label: str, radius: float) -> list[str]:
    """The label in up to three lines that lie within a circle. Where it has no room, as many of its words as
    have, or the beginning of the first, with an ellipsis; empty for less than four characters."""
    words = label[:LABEL_CHARACTERS_MAX].split()
    for count in range(1, LINES_MAX + 1):
        lines = _wrapped(words, _rooms(radius, count))
        if lines is not None:
            return lines
    cuts = [_cut(words, _rooms(radius, count)) for count in range(1, LINES_MAX + 1)]
    longest = max(cuts, key=lambda lines: sum(len(line) for line in lines))
    (room,) = _rooms(radius, 1)
    if longest or not words or room <= CUT_CHARACTERS_MIN or _width(words[0]) > len(words[0]):
        return longest
    return [f"{words[0][: room - 1]}…"]


def _rooms(radius: float, count: int) -> list[int]:
    """How many characters each of `count` lines has room for."""
    rooms = []
    for at in range(count):
        edge = abs(at - (count - 1) / 2) * LINE_HEIGHT + LINE_HEIGHT / 2
        half = math.sqrt(max(0.0, radius**2 - edge**2))
        rooms.append(int(2 * half / CHARACTER_WIDTH))
    return rooms


def _wrapped(words: Sequence[str], rooms: Sequence[int]) -> list[str] | None:
    """The words in lines no longer than there is room; None where they have none."""
    lines: list[str] = []
    left = list(words)
    for room in rooms:
        line = ""
        while left and _width(line) + bool(line) + _width(left[0]) <= room:
            line = f"{line} {left.pop(0)}".strip()
        if not line and left:
            return None
        lines.append(line)
    return None if left else [line for line in lines if line]


def _width(text: str) -> int:
    """In characters of usual width; those of East Asian scripts are twice as wide."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def _cut(words: Sequence[str], rooms: Sequence[int]) -> list[str]:
    """As many words as have room, an ellipsis behind them."""
    for count in range(len(words) - 1, 0, -1):
        lines = _wrapped([*words[: count - 1], f"{words[count - 1].rstrip(',')}…"], rooms)
        if lines is not None:
            return lines
    return []
