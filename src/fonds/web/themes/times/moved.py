"""Where the documents of each theme were in the clustering before: counts of pairs, and their picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fonds.collections.reading.clusters import Cluster
from fonds.collections.reading.times import ABSENT, Looked
from fonds.model.numbers import how_many
from fonds.web.rendering import cut

SHOWN_MAX = 12
PLACED_SINCE, APART, OTHERS = "since", "apart", "others"
WIDTH, HEIGHT, BAR, LEFT, RIGHT = 960, 460, 12, 300, 660
GAP, SMALLEST, LABEL_CHARACTERS = 20, 2.0, 38


@dataclass(frozen=True, slots=True)
class Place:
    """A theme on one side, by its id; or `apart`, in none; `others`, a smaller one; `since`, not there yet.
    `href` opens the theme, None where it is none. `name`: what a curator called it, '' where nobody did."""

    id: str
    label: str
    href: str | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """So many documents are at `after` and were at `before`; `href` lists them, None where several themes
    are taken together."""

    before: Place
    after: Place
    documents: int
    href: str | None


def counted(
    looked: Looked, before: Sequence[Cluster], after: Sequence[Cluster]
) -> Counter[tuple[str, str]]:
    """Documents by where they were and are: ids of the twelve largest themes of each side, or one of the
    other words of Place."""
    olds = _names(looked.labels_before, looked.clusters_before, before, PLACED_SINCE)
    news = _names(looked.labels, looked.clusters, after, "")
    pairs = Counter(zip(looked.before, looked.places, strict=True))
    found: Counter[tuple[str, str]] = Counter()
    for (then, now), n in pairs.items():
        if now != ABSENT:
            found[olds[then], news[now]] += n
    return found


def _names(
    labels: Sequence[str], clusters: int, themes: Sequence[Cluster], absent: str
) -> Mapping[int, str]:
    ids = {one.label: one.id for one in themes[:SHOWN_MAX]}
    names = {at: ids.get(label, OTHERS) for at, label in enumerate(labels[:clusters])}
    names |= dict.fromkeys(range(clusters, len(labels)), APART)
    return {**names, ABSENT: absent}


def picture(moves: Sequence[Move], title: str) -> Markup:
    """Both clusterings as columns, the one before at the left, a ribbon as wide as its count a move."""
    sides = [_heights([(m.before, m.documents) for m in moves])]
    right = _heights([(m.after, m.documents) for m in moves])
    words = (OTHERS, APART, PLACED_SINCE)
    sides.append(dict(sorted(right.items(), key=lambda one: (one[0] in words, -one[1][1]))))
    total = max(1, sum(move.documents for move in moves))
    most = max(len(side) for side in sides)
    unit = max(1.0, HEIGHT - GAP * most) / total
    height = HEIGHT + GAP + int(SMALLEST) * most
    said = "; ".join(_said(move) for move in moves)
    pieces = [
        Markup(
            '<svg class="moved" viewBox="0 0 {} {}" role="group" aria-labelledby="moved-title moved-desc">'
            '<title id="moved-title">{}</title><desc id="moved-desc">{}</desc>'
        ).format(WIDTH, height, title, said)
    ]
    tops = [_tops(side, unit) for side in sides]
    pieces += _ribbons(moves, tops, unit)
    for side, top, left in ((sides[0], tops[0], True), (sides[1], tops[1], False)):
        pieces += [
            _node(place, n, top[place.id], max(SMALLEST, n * unit), left=left)
            for place, n in side.values()
        ]
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def _heights(ends: Sequence[tuple[Place, int]]) -> dict[str, tuple[Place, int]]:
    found: dict[str, tuple[Place, int]] = {}
    for place, n in ends:
        found[place.id] = (place, n + (found[place.id][1] if place.id in found else 0))
    return found


def _tops(side: Mapping[str, tuple[Place, int]], unit: float) -> dict[str, float]:
    """Where each begins, those above it with the room their words need."""
    tops, at = {}, float(GAP) / 2
    for id_, (_, n) in side.items():
        tops[id_] = at
        at += max(SMALLEST, n * unit) + GAP
    return tops


def _ribbons(
    moves: Sequence[Move], tops: Sequence[Mapping[str, float]], unit: float
) -> list[Markup]:
    used = [dict(one) for one in tops]
    pieces = []
    bend = (LEFT + BAR + RIGHT) / 2
    for move in moves:
        wide = max(0.8, move.documents * unit)
        y, to = used[0][move.before.id], used[1][move.after.id]
        used[0][move.before.id] += move.documents * unit
        used[1][move.after.id] += move.documents * unit
        path = (
            f"M{LEFT + BAR},{y:.1f} C{bend:g},{y:.1f} {bend:g},{to:.1f} {RIGHT},{to:.1f} "
            f"V{to + wide:.1f} C{bend:g},{to + wide:.1f} {bend:g},{y + wide:.1f} "
            f"{LEFT + BAR},{y + wide:.1f} Z"
        )
        stays = " stays" if move.before.id == move.after.id else ""
        inner = Markup('<path class="ribbon{}" d="{}"/>').format(stays, path)
        pieces.append(_linked(move.href, _said(move), inner))
    return pieces


def _node(place: Place, documents: int, top: float, height: float, *, left: bool) -> Markup:
    x = LEFT if left else RIGHT
    inner = Markup(
        '<rect class="bar" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>'
        '<text x="{}" y="{:.1f}" text-anchor="{}" dominant-baseline="central">{} '
        '<tspan class="strong">{:,}</tspan></text>'
    ).format(
        x, top, BAR, height, x - 8 if left else x + BAR + 8, top + height / 2,
        "end" if left else "start", cut(_called(place), LABEL_CHARACTERS), documents,
    )  # fmt: skip
    return _linked(place.href, f"{_called(place)}: {how_many(documents, 'document')}", inner)


def _linked(href: str | None, title: str, inner: Markup) -> Markup:
    if href is None:
        return Markup("<g><title>{}</title>{}</g>").format(title, inner)
    return Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(href, title, inner)


def _said(move: Move) -> str:
    return f"{_called(move.before)} → {_called(move.after)}: {how_many(move.documents, 'document')}"


def _called(place: Place) -> str:
    return place.name or place.label
