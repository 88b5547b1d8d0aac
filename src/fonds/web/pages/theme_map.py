"""Map of themes as SVG: a circle per theme, sized by its documents, at the position kept with the clustering.

Circles that would overlap are pushed apart, always in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from markupsafe import Markup

from fonds.model.encoding import pluralize

WIDTH, HEIGHT = 1000.0, 560.0
CIRCLES_MAX = 60
ROUNDS_MAX = 120
FILLED = 0.34
"""Share of the picture that all circles cover together."""
GAP = 3.0
CHARACTER_WIDTH, LINE_HEIGHT = 7.6, 17.0
LINES_MAX, LABEL_MAX_CHARS = 3, 80
CUT_MIN_CHARS = 4
EDGE = 1.0
"""Room for the outline of a circle at the edge of the picture."""
RADIUS_MIN = 7.0


@dataclass(frozen=True, slots=True)
class MapSpot:
    """A theme to draw. Both coordinates of `position` lie between -1 and 1."""

    label: str
    size: int
    position: tuple[float, float]
    href: str


@dataclass(slots=True)
class Circle:
    """A placed spot: its center and radius in units of the picture."""

    spot: MapSpot
    x: float
    y: float
    radius: float


def placed_circles(spots: Sequence[MapSpot]) -> list[Circle]:
    """Place the largest themes so that their circles do not overlap, as far as there is room."""
    shown = sorted(spots, key=lambda spot: (-spot.size, spot.href))[:CIRCLES_MAX]
    total = sum(max(spot.size, 1) for spot in shown)
    unit = math.sqrt(FILLED * WIDTH * HEIGHT / (math.pi * max(1, total)))
    radius_max = min(WIDTH, HEIGHT) / 3.6
    circles = []
    for spot in shown:
        radius = min(radius_max, max(RADIUS_MIN, unit * math.sqrt(max(spot.size, 1))))
        x, y = (min(1.0, max(-1.0, one)) for one in spot.position)
        circle = Circle(spot, 0.0, 0.0, radius)
        circle.x = WIDTH / 2 + x * (WIDTH / 2 - radius - EDGE)
        circle.y = HEIGHT / 2 - y * (HEIGHT / 2 - radius - EDGE)
        circles.append(circle)
    for _ in range(ROUNDS_MAX):
        if not _push_apart(circles):
            break
    return circles


def _push_apart(circles: Sequence[Circle]) -> bool:
    """Push overlapping pairs apart, the smaller circle further. Return whether any pair overlapped."""
    moved = False
    for at, one in enumerate(circles):
        for number, other in enumerate(circles[:at]):
            across, down = one.x - other.x, one.y - other.y
            away, wanted = math.hypot(across, down), one.radius + other.radius + GAP
            if away >= wanted - 0.01:
                continue
            moved = True
            if away < 0.01:
                # Two circles at one point part in a direction that follows from their order.
                turn = 2.4 * (at + number)
                across, down, away = math.cos(turn), math.sin(turn), 1.0
            push = (wanted - away) / away
            share = other.radius**2 / (one.radius**2 + other.radius**2)
            one.x, one.y = one.x + across * push * share, one.y + down * push * share
            other.x -= across * push * (1 - share)
            other.y -= down * push * (1 - share)
            _keep_inside(one)
            _keep_inside(other)
    return moved


def _keep_inside(circle: Circle) -> None:
    room = circle.radius + EDGE
    circle.x = min(WIDTH - room, max(room, circle.x))
    circle.y = min(HEIGHT - room, max(room, circle.y))


def theme_map(spots: Sequence[MapSpot], title: str) -> Markup:
    """Draw the map. A label that does not fit its circle is shown in the circle's tooltip only."""
    circles = placed_circles(spots)
    desc = "; ".join(f"{one.spot.label}: {one.spot.size:,}" for one in circles)
    head = Markup(
        '<svg class="map" viewBox="0 0 {:g} {:g}" role="group" aria-labelledby="map-title map-desc">'
        '<title id="map-title">{}</title><desc id="map-desc">{}</desc>'
    ).format(WIDTH, HEIGHT, title, desc)
    return Markup("").join([head, *(_draw_circle(one) for one in circles), Markup("</svg>")])


def _draw_circle(circle: Circle) -> Markup:
    spot = circle.spot
    title = f"{spot.label}: {pluralize(spot.size, 'document')}"
    lines = fit_label(spot.label, circle.radius)
    if lines and circle.radius > LINE_HEIGHT * (len(lines) + 1.5):
        lines.append(f"{spot.size:,}")
    top = circle.y - LINE_HEIGHT * (len(lines) - 1) / 2
    words = Markup("").join(
        Markup('<tspan x="{:.1f}" y="{:.1f}">{}</tspan>').format(
            circle.x, top + LINE_HEIGHT * at, line
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
        '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>{}</a>'
    ).format(spot.href, title, circle.x, circle.y, circle.radius, text)


def fit_label(label: str, radius: float) -> list[str]:
    """The label in up to three lines that lie within a circle. Where it has no room, as many of its words as
    have, or the beginning of the first, with an ellipsis; empty for less than four characters."""
    words = label[:LABEL_MAX_CHARS].split()
    for count in range(1, LINES_MAX + 1):
        lines = _wrap_words(words, _compute_room(radius, count))
        if lines is not None:
            return lines
    cuts = [_cut_words(words, _compute_room(radius, count)) for count in range(1, LINES_MAX + 1)]
    longest = max(cuts, key=lambda lines: sum(len(line) for line in lines))
    (room,) = _compute_room(radius, 1)
    if longest or not words or room <= CUT_MIN_CHARS or _measure_width(words[0]) > len(words[0]):
        return longest
    return [f"{words[0][: room - 1]}…"]


def _compute_room(radius: float, count: int) -> list[int]:
    """How many characters each of `count` lines has room for."""
    rooms = []
    for at in range(count):
        edge = abs(at - (count - 1) / 2) * LINE_HEIGHT + LINE_HEIGHT / 2
        half = math.sqrt(max(0.0, radius**2 - edge**2))
        rooms.append(int(2 * half / CHARACTER_WIDTH))
    return rooms


def _wrap_words(words: Sequence[str], rooms: Sequence[int]) -> list[str] | None:
    """The words in lines no longer than there is room; None where they have none."""
    lines: list[str] = []
    left = list(words)
    for room in rooms:
        line = ""
        while left and _measure_width(line) + bool(line) + _measure_width(left[0]) <= room:
            line = f"{line} {left.pop(0)}".strip()
        if not line and left:
            return None
        lines.append(line)
    return None if left else [line for line in lines if line]


def _measure_width(text: str) -> int:
    """In characters of usual width; those of East Asian scripts are twice as wide."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def _cut_words(words: Sequence[str], rooms: Sequence[int]) -> list[str]:
    """As many words as have room, an ellipsis behind them."""
    for count in range(len(words) - 1, 0, -1):
        lines = _wrap_words([*words[: count - 1], f"{words[count - 1].rstrip(',')}…"], rooms)
        if lines is not None:
            return lines
    return []
