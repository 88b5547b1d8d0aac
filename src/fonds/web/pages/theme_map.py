"""Map of themes as SVG: one circle per theme, sized by its documents, at the position stored with
the clustering.

Overlapping circles are pushed apart. The same themes always give the same map.
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
FILLED_SHARE = 0.34
"""Share of the area of the map that all circles cover together."""
GAP = 3.0
CHARACTER_WIDTH, LINE_HEIGHT = 7.6, 17.0
LINES_MAX, LABEL_MAX_CHARS = 3, 80
CUT_MIN_CHARS = 4
EDGE = 1.0
"""Room for the outline of a circle at the edge of the map of themes, in units of the SVG
picture.
"""
RADIUS_MIN = 7.0


@dataclass(frozen=True, slots=True)
class MapSpot:
    """A theme to draw on the map.

    `size`: number of documents of the theme.
    `position`: position that is stored with the clustering, both coordinates between -1 and 1.
    """

    label: str
    size: int
    position: tuple[float, float]
    href: str


@dataclass(slots=True)
class Circle:
    """Circle of a theme (`spot`) on the map: its center and radius in units of the SVG picture."""

    spot: MapSpot
    x: float
    y: float
    radius: float


def place_circles(spots: Sequence[MapSpot]) -> list[Circle]:
    """Place the circles of the largest themes so that they do not overlap, as far as there is
    room.
    """
    largest_spots = sorted(spots, key=lambda spot: (-spot.size, spot.href))[:CIRCLES_MAX]
    total = sum(max(spot.size, 1) for spot in largest_spots)
    unit = math.sqrt(FILLED_SHARE * WIDTH * HEIGHT / (math.pi * max(1, total)))
    radius_max = min(WIDTH, HEIGHT) / 3.6
    circles = []
    for spot in largest_spots:
        radius = min(radius_max, max(RADIUS_MIN, unit * math.sqrt(max(spot.size, 1))))
        x, y = (min(1.0, max(-1.0, coordinate)) for coordinate in spot.position)
        circle = Circle(spot, 0.0, 0.0, radius)
        circle.x = WIDTH / 2 + x * (WIDTH / 2 - radius - EDGE)
        circle.y = HEIGHT / 2 - y * (HEIGHT / 2 - radius - EDGE)
        circles.append(circle)
    for _ in range(ROUNDS_MAX):
        if not _push_apart(circles):
            break
    return circles


def _push_apart(circles: Sequence[Circle]) -> bool:
    """Push overlapping pairs of circles apart, the smaller circle further.

    Return whether any pair overlapped.
    """
    has_moved = False
    for index, circle in enumerate(circles):
        for number, other_circle in enumerate(circles[:index]):
            across, down = circle.x - other_circle.x, circle.y - other_circle.y
            distance, distance_min = (
                math.hypot(across, down),
                circle.radius + other_circle.radius + GAP,
            )
            if distance >= distance_min - 0.01:
                continue
            has_moved = True
            if distance < 0.01:
                # Two circles at one point move in a direction that follows from their order.
                turn = 2.4 * (index + number)
                across, down, distance = math.cos(turn), math.sin(turn), 1.0
            push = (distance_min - distance) / distance
            share = other_circle.radius**2 / (circle.radius**2 + other_circle.radius**2)
            circle.x, circle.y = circle.x + across * push * share, circle.y + down * push * share
            other_circle.x -= across * push * (1 - share)
            other_circle.y -= down * push * (1 - share)
            _keep_inside(circle)
            _keep_inside(other_circle)
    return has_moved


def _keep_inside(circle: Circle) -> None:
    room = circle.radius + EDGE
    circle.x = min(WIDTH - room, max(room, circle.x))
    circle.y = min(HEIGHT - room, max(room, circle.y))


def draw_theme_map(spots: Sequence[MapSpot], title: str) -> Markup:
    """Draw the map of themes. A label that does not fit its circle is shown in the circle's tooltip
    only.
    """
    circles = place_circles(spots)
    desc = "; ".join(f"{circle.spot.label}: {circle.spot.size:,}" for circle in circles)
    head = Markup(
        '<svg class="map" viewBox="0 0 {:g} {:g}" role="group" aria-labelledby="map-title map-desc">'
        '<title id="map-title">{}</title><desc id="map-desc">{}</desc>'
    ).format(WIDTH, HEIGHT, title, desc)
    return Markup("").join([head, *(_draw_circle(circle) for circle in circles), Markup("</svg>")])


def _draw_circle(circle: Circle) -> Markup:
    spot = circle.spot
    title = f"{spot.label}: {pluralize(spot.size, 'document')}"
    lines = fit_label(spot.label, circle.radius)
    if lines and circle.radius > LINE_HEIGHT * (len(lines) + 1.5):
        lines.append(f"{spot.size:,}")
    top = circle.y - LINE_HEIGHT * (len(lines) - 1) / 2
    spans = Markup("").join(
        Markup('<tspan x="{:.1f}" y="{:.1f}">{}</tspan>').format(
            circle.x, top + LINE_HEIGHT * number, line
        )
        for number, line in enumerate(lines)
    )
    text = (
        Markup('<text text-anchor="middle" dominant-baseline="central">{}</text>').format(spans)
        if lines
        else Markup("")
    )
    return Markup(
        '<a href="{}" tabindex="-1"><title>{}</title>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>{}</a>'
    ).format(spot.href, title, circle.x, circle.y, circle.radius, text)


def fit_label(label: str, radius: float) -> list[str]:
    """Fit the label of a theme into a circle in up to three lines.

    If it does not fit, return as many words as fit, or the beginning of the first word, with an
    ellipsis. Return [] if there is no room for at least four characters.
    """
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
    """Return how many characters fit in each of `count` lines of text in a circle of a theme, by
    its radius.
    """
    rooms = []
    for number in range(count):
        edge = abs(number - (count - 1) / 2) * LINE_HEIGHT + LINE_HEIGHT / 2
        half_width = math.sqrt(max(0.0, radius**2 - edge**2))
        rooms.append(int(2 * half_width / CHARACTER_WIDTH))
    return rooms


def _wrap_words(words: Sequence[str], rooms: Sequence[int]) -> list[str] | None:
    """Wrap the words of a label into lines. Return None if the words do not fit.

    `rooms`: maximum width of each line in standard characters.
    """
    lines: list[str] = []
    remaining = list(words)
    for room in rooms:
        line = ""
        while (
            remaining and _measure_width(line) + bool(line) + _measure_width(remaining[0]) <= room
        ):
            line = f"{line} {remaining.pop(0)}".strip()
        if not line and remaining:
            return None
        lines.append(line)
    return None if remaining else [line for line in lines if line]


def _measure_width(text: str) -> int:
    """Measure the width of a text in standard characters; an East Asian character counts as two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _cut_words(words: Sequence[str], rooms: Sequence[int]) -> list[str]:
    """Wrap as many words as fit into lines, and put an ellipsis after the last one.

    Return [] if not even one word fits.
    """
    for count in range(len(words) - 1, 0, -1):
        lines = _wrap_words([*words[: count - 1], f"{words[count - 1].rstrip(',')}…"], rooms)
        if lines is not None:
            return lines
    return []
