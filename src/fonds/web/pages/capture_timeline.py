"""The captures of a story in order: its versions, repeated captures of the same bytes, and failed captures.

Limits: the 200 versions captured last, and the newest 200 records of at most 5 addresses of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fonds.model.capture import format_datetime14, parse_datetime14
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import EntryRow
from fonds.ports import Records
from fonds.viewer.story_versions import StoryVersions, VersionDifference
from fonds.web.html.rendering import build_url

RECORDS_MAX, ADDRESSES_MAX = 200, 5

Sort = Literal["first", "changed-text", "same-text", "unknown", "same-bytes", "failed"]
CAPTURE_WORDS = {
    "first": "the first listed",
    "changed-text": "text changed",
    "same-text": "same text",
    "unknown": "not compared",
    "same-bytes": "the same bytes again",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class StoryCapture:
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
class StoryCaptures:
    """The captures of a story, the newest first. `failed` counts those that failed; `is_complete` is False
    when older captures were left out."""

    captures: Sequence[StoryCapture]
    failed: int
    is_complete: bool


def story_captures(
    records: Records, versions: StoryVersions, addresses: Sequence[str]
) -> StoryCaptures:
    """Return the captures of a story whose files were found at these addresses."""
    entries = _list_entries(records, addresses)
    shown = {one.sha1hex for one in versions.shown}
    found = [
        StoryCapture(
            one.captured,
            _classify_difference(one.difference),
            one.sha1hex,
            None,
            False,
            f"/file/{one.sha1hex}",
        )
        for one in versions.shown
    ]
    found += [one for row in entries for one in _unversioned(row, shown)]
    found.sort(key=lambda one: (one.at, one.sort, one.href), reverse=True)
    return StoryCaptures(
        captures=found,
        failed=sum(one.sort == "failed" for one in found),
        is_complete=len(entries) < RECORDS_MAX and len(versions.shown) == versions.total,
    )


def _list_entries(records: Records, addresses: Sequence[str]) -> list[EntryRow]:
    urls = list(dict.fromkeys(addresses))[:ADDRESSES_MAX]
    if not urls:
        return []
    order = ("-entered_at", "entry_id")
    return list(records.find(EntryRow, {"url": urls}, order=order, count_max=RECORDS_MAX))


def _classify_difference(difference: VersionDifference | None) -> Sort:
    if difference is None:
        return "first"
    sorts: dict[str, Sort] = {
        "same-bytes": "same-bytes", "same-text": "same-text", "changed-text": "changed-text",
    }  # fmt: skip
    return sorts.get(difference, "unknown")


def _unversioned(row: EntryRow, versions: set[str]) -> Iterator[StoryCapture]:
    """Yield the capture of a record without a version: one that failed, or repeated known bytes."""
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
    href = f"/file/{known}" if is_again and known else build_url("/show", key=row.url)
    sort: Sort = "same-bytes" if is_again else "failed"
    yield StoryCapture(
        at or format_datetime14(row.entered_at),
        sort,
        known if is_again else None,
        reason,
        at is None,
        href,
    )


def _is_time(text: str) -> bool:
    try:
        parse_datetime14(text)
    except ValueError:
        return False
    return True


def capture_words(one: StoryCapture) -> str:
    """Describe a capture in a few words."""
    said = CAPTURE_WORDS[one.sort]
    if one.sort == "failed" and one.reason:
        said = f"{said}: {one.reason}"
    return f"{said}, came in then" if one.is_entered else said
