"""What a source brought day by day as SVG: bars, what is usual behind them, and a row of marks below."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fonds.model.numbers import how_many
from fonds.sources.following.days import Brought, SourceDay
from fonds.web.rendering import day, link

DAY_WIDTH, GAP = 10, 1.5
HEIGHT, GROUND = 132, 118
SMALLEST = 3.0


def told(one: SourceDay) -> str:
    """A day in words."""
    said = f"{day(one.day)}: {one.brought}"
    if one.new:
        said = f"{day(one.day)}: {how_many(one.new, 'new link')}"
    if one.polls:
        said += f" in {how_many(one.polls, 'poll')}"
    if one.failed and one.brought is not Brought.FAILED:
        said += f", {one.failed:,} of them failed"
    if one.outside:
        said += f", {one.outside} what is usual"
    return said


def days_strip(source_id: str, days: Sequence[SourceDay]) -> Markup:
    """The days, each stretched to the width there is. Below the ground a hatched mark is a day whose polls
    all failed, a line one without a poll, nothing one that was not counted. Links are no tab stops: the date
    form below opens the same links."""
    most = max((max(one.new, one.most or 0.0) for one in days), default=0.0) or 1.0
    pieces = [
        Markup(
            '<svg class="strip-days" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="strip-title strip-desc"><title id="strip-title">New links day by day</title>'
            '<desc id="strip-desc">{said}</desc>{usual}'
        ).format(w=DAY_WIDTH * len(days), h=HEIGHT, said=in_words(days), usual=_usual(days, most))
    ]
    for place, one in enumerate(days):
        inner = _hit(place) + _bar(one, place, most) + _mark(one, place)
        href = link(f"/sources/{source_id}/links", day=one.day.isoformat()) if one.new else ""
        form = '<a href="{}" tabindex="-1"><title>{}</title>{}</a>'
        if href:
            pieces.append(Markup(form).format(href, told(one), inner))  # noqa: S704
        else:
            pieces.append(Markup("<g><title>{}</title>{}</g>").format(told(one), inner))
    return Markup("").join([*pieces, Markup("</svg>")])


def in_words(days: Sequence[SourceDay]) -> str:
    """The picture as sentences."""
    counts = [(sum(one.brought is how for one in days), str(how)) for how in Brought]
    said = ", ".join(f"{how} on {how_many(count, 'day')}" for count, how in counts if count)
    outside = [one for one in days if one.outside]
    if outside:
        said += f"; {how_many(len(outside), 'day')} brought more or less than usual"
    return said[:1].upper() + said[1:] + "."


def _usual(days: Sequence[SourceDay], most: float) -> Markup:
    """What is usual, a step a day."""
    steps = [
        f"M{place * DAY_WIDTH} {_y(one.most, most):.1f}h{DAY_WIDTH}V{_y(one.least, most):.1f}h-{DAY_WIDTH}z"
        for place, one in enumerate(days)
        if one.most is not None and one.least is not None
    ]
    return Markup('<path class="usual" d="{}"/>').format("".join(steps))


def _y(count: float, most: float) -> float:
    return GROUND * (1.0 - count / most)


def _hit(place: int) -> Markup:
    return Markup('<rect class="hit" x="{}" y="0" width="{}" height="{}"/>').format(
        place * DAY_WIDTH, DAY_WIDTH, HEIGHT
    )


def _bar(one: SourceDay, place: int, most: float) -> Markup:
    if not one.new:
        return Markup("")
    height = max(SMALLEST, GROUND * one.new / most)
    return Markup(
        '<rect class="bar {tone}" x="{x:g}" y="{y:.1f}" width="{w:g}" height="{h:.1f}"/>'
    ).format(
        tone=_tone(one), x=place * DAY_WIDTH + GAP / 2, y=GROUND - height,
        w=DAY_WIDTH - GAP, h=height,
    )  # fmt: skip


def _tone(one: SourceDay) -> str:
    if one.brought is Brought.UNKNOWN:
        return "aside"
    return "failed" if one.outside else "kept"


def _mark(one: SourceDay, place: int) -> Markup:
    left, top, foot = place * DAY_WIDTH + 1, GROUND + 3, HEIGHT - 1
    right = left + DAY_WIDTH - 2
    drawn = {
        Brought.FAILED: f"M{left} {top}L{right} {foot}M{left} {foot}L{right} {top}",
        Brought.UNPOLLED: f"M{left} {(top + foot) / 2:g}H{right}",
        Brought.NOTHING: f"M{(left + right) / 2:g} {top}V{foot - 5}",
    }.get(one.brought)
    if drawn is None:
        return Markup("")
    tone = "failed" if one.brought is Brought.FAILED else "aside"
    return Markup('<path class="mark {}" d="{}"/>').format(tone, drawn)
