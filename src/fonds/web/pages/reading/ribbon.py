"""The captures of a story as a strip in time: versions, captures of the same bytes, and those that failed.

Bound: the 200 versions captured last, and the newest 200 records of at most 5 addresses of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from markupsafe import Markup

from fonds.library.reading.story import Difference, Versions
from fonds.model.capture import from_datetime14, to_datetime14
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import EntryRow
from fonds.ports import Records
from fonds.web.rendering import link, moment14

RECORDS_MAX, ADDRESSES_MAX = 200, 5
MARK, GAP_USUAL, GAP_MAX = 28, 24.0, 140.0
"""In pixels: a mark, the gap that is usual in a strip, and the longest that is drawn to scale."""

Sort = Literal["first", "changed-text", "same-text", "unknown", "same-bytes", "failed"]
SAID = {
    "first": "the first listed",
    "changed-text": "text changed",
    "same-text": "same text",
    "unknown": "not compared",
    "same-bytes": "the same bytes again",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class CaptureMark:
    """One capture, at 14 digits: a version by its SHA-1 with how it stands to the version before, or a record
    that ended otherwise, for a `reason`. `is_entered`: the time of capture is not known, `at` is when it came
    in."""

    at: str
    sort: Sort
    sha1hex: str | None
    reason: str | None
    is_entered: bool
    href: str


@dataclass(frozen=True, slots=True)
class Ribbon:
    """`marks`, the newest first, of which `changed`, `same` and `failed` are counted; gaps over
    `cut_days` days are drawn as long as that, `cut` of them. `is_whole`: no older ones were left out."""

    marks: Sequence[CaptureMark]
    changed: int
    same: int
    failed: int
    cut: int
    cut_days: float
    is_whole: bool


def ribbon_of(records: Records, versions: Versions, addresses: Sequence[str]) -> Ribbon:
    """The captures of a story whose files were met at these addresses."""
    entries = _entries(records, addresses)
    shown = {one.sha1hex for one in versions.shown}
    marks = [
        CaptureMark(
            one.captured, _sort(one.difference), one.sha1hex, None, False, f"/file/{one.sha1hex}"
        )
        for one in versions.shown
    ]
    marks += [mark for row in entries for mark in _marks(row, shown)]
    marks.sort(key=lambda one: (one.at, one.sort, one.href), reverse=True)
    counts = [one.sort for one in marks]
    gaps = _gaps(marks)
    longest = _second_of_gap(gaps) * GAP_MAX
    return Ribbon(
        marks=marks,
        changed=sum(one in ("first", "changed-text") for one in counts),
        same=sum(one in ("same-text", "same-bytes") for one in counts),
        failed=counts.count("failed"),
        cut=sum(one > longest for one in gaps),
        cut_days=round(longest / 86_400, 1),
        is_whole=len(entries) < RECORDS_MAX and len(versions.shown) == versions.total,
    )


def _entries(records: Records, addresses: Sequence[str]) -> list[EntryRow]:
    urls = list(dict.fromkeys(addresses))[:ADDRESSES_MAX]
    if not urls:
        return []
    order = ("-entered_at", "entry_id")
    return list(records.find(EntryRow, {"url": urls}, order=order, count_max=RECORDS_MAX))


def _sort(difference: Difference | None) -> Sort:
    if difference is None:
        return "first"
    sorts: dict[str, Sort] = {
        "same-bytes": "same-bytes", "same-text": "same-text", "changed-text": "changed-text",
    }  # fmt: skip
    return sorts.get(difference, "unknown")


def _marks(row: EntryRow, versions: set[str]) -> Iterator[CaptureMark]:
    """The mark of a record that brought no version: one that failed, or brought bytes that were here."""
    reason = row.reason if row.reason in set(Reason) else None
    if reason is None or row.outcome not in ("dropped", "quarantined"):
        return
    is_again = reason in (Reason.DUPLICATE, Reason.REVISIT)
    if not is_again and Reason(reason).weight is Weight.SET_ASIDE:
        return
    at = row.seen if row.seen and _is_time(row.seen) else None
    known = row.about if row.about in versions else None
    if reason == Reason.DUPLICATE and known is None:
        return
    href = f"/file/{known}" if is_again and known else link("/show", key=row.url)
    sort: Sort = "same-bytes" if is_again else "failed"
    yield CaptureMark(
        at or to_datetime14(row.entered_at),
        sort,
        known if is_again else None,
        reason,
        at is None,
        href,
    )


def _is_time(text: str) -> bool:
    try:
        from_datetime14(text)
    except ValueError:
        return False
    return True


def _gaps(marks: Sequence[CaptureMark]) -> list[float]:
    """The seconds between each mark and the older one behind it."""
    times = [from_datetime14(one.at) for one in marks]
    return [(newer - older).total_seconds() for newer, older in pairwise(times)]


def _second_of_gap(gaps: Sequence[float]) -> float:
    """How many seconds a pixel stands for."""
    lasting = [one for one in gaps if one > 0]
    return (median(lasting) if lasting else 1.0) / GAP_USUAL


def strip(ribbon: Ribbon, current: str) -> Markup:
    """The marks as a picture, the newest at the left; each is a link with its name."""
    gaps = _gaps(ribbon.marks)
    scale = _second_of_gap(gaps)
    pieces, at = list[Markup](), 2.0
    for number, one in enumerate(ribbon.marks):
        pieces.append(_mark(one, at, one.sha1hex == current))
        at += MARK
        if number < len(gaps):
            wide = gaps[number] / scale
            pieces.append(_gap(at, min(wide, GAP_MAX), is_cut=wide > GAP_MAX))
            at += min(wide, GAP_MAX)
    head = Markup(
        '<svg class="captures" width="{w:.0f}" height="36" viewBox="0 0 {w:.0f} 36" role="group" '
        'aria-label="Captures, the newest first">'
    ).format(w=at + 2)
    return Markup("").join([head, *pieces, Markup("</svg>")])


def _mark(one: CaptureMark, at: float, is_current: bool) -> Markup:
    middle = at + MARK / 2
    said = f"{moment14(one.at).striptags()}: {said_of(one)}"
    shapes = {
        "failed": '<path class="cross" d="M{l:.1f} 12l12 12m0 -12l-12 12"/>',
        "changed-text": '<circle class="full" cx="{m:.1f}" cy="18" r="7"/>',
        "first": '<circle class="full" cx="{m:.1f}" cy="18" r="7"/>',
        "unknown": '<circle class="hollow dashed" cx="{m:.1f}" cy="18" r="7"/>',
    }
    hollow = '<circle class="hollow" cx="{m:.1f}" cy="18" r="7"/>'
    shape = Markup(shapes.get(one.sort, hollow)).format(m=middle, l=middle - 6)  # noqa: S704
    return Markup(
        '<a href="{}" tabindex="-1" aria-label="{}"{}><title>{}</title>'
        '<rect class="hit" x="{:.1f}" y="4" width="{}" height="28"/>{}</a>'
    ).format(
        one.href, said, Markup(' aria-current="true"') if is_current else "", said, at, MARK, shape
    )  # fmt: skip


def said_of(one: CaptureMark) -> str:
    """What a mark says, in words."""
    said = SAID[one.sort]
    if one.sort == "failed" and one.reason:
        said = f"{said}: {one.reason}"
    return f"{said}, came in then" if one.is_entered else said


def _gap(at: float, wide: float, *, is_cut: bool) -> Markup:
    """The time between two marks; a gap that is cut is broken in its middle."""
    if wide < 1:
        return Markup("")
    if not is_cut:
        return Markup('<path class="gap" d="M{:.1f} 18h{:.1f}"/>').format(at, wide)
    half = (wide - 16) / 2
    return Markup(
        '<path class="gap" d="M{a:.1f} 18h{h:.1f}m2 8l5 -16m-2 16l5 -16m2 8h{h:.1f}"/>'
    ).format(a=at, h=half)
