"""Timeline of a story: its versions, repeated captures of the same bytes, and failed captures.

Limits: the 200 versions captured last, and the newest 200 records of at most 5 URLs of the story.
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
    "first": "first version listed",
    "changed-text": "text changed",
    "same-text": "same text",
    "unknown": "not compared",
    "same-bytes": "same bytes",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class StoryCapture:
    """One capture of a story.

    A capture either is a version of the story, identified by its SHA-1 and compared with the
    version before, or is a record that did not become a version, for a `reason`.
    `at`: time of the capture, 14 digits. If that time is unknown, the time at which the record was
        entered; `is_entered` is then True.
    """

    at: str
    sort: Sort
    sha1hex: str | None
    reason: str | None
    is_entered: bool
    href: str


@dataclass(frozen=True, slots=True)
class StoryCaptures:
    """Captures of a story, newest first.

    `failed`: number of failed captures.
    `is_complete`: False if older captures were left out.
    """

    captures: Sequence[StoryCapture]
    failed: int
    is_complete: bool


def build_story_captures(
    records: Records, versions: StoryVersions, addresses: Sequence[str]
) -> StoryCaptures:
    """Return the captures of a story, with failed and repeated captures of its URLs.

    `versions`: the versions of the story.
    `addresses`: URLs at which the files of the story were found.
    """
    entries = _list_entries(records, addresses)
    version_hashes = {item.sha1hex for item in versions.shown}
    captures = [
        StoryCapture(
            item.captured,
            _classify_difference(item.difference),
            item.sha1hex,
            None,
            False,
            f"/file/{item.sha1hex}",
        )
        for item in versions.shown
    ]
    captures += [
        item for row in entries for item in _iter_unversioned_captures(row, version_hashes)
    ]
    captures.sort(key=lambda capture: (capture.at, capture.sort, capture.href), reverse=True)
    return StoryCaptures(
        captures=captures,
        failed=sum(capture.sort == "failed" for capture in captures),
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


def _iter_unversioned_captures(row: EntryRow, versions: set[str]) -> Iterator[StoryCapture]:
    """Yield the capture of a record that did not become a version of the story.

    Such a capture failed, or repeated bytes that were already stored.
    """
    reason = row.reason if row.reason in set(Reason) else None
    if reason is None or row.outcome not in ("dropped", "quarantined"):
        return
    is_again = reason in (Reason.DUPLICATE, Reason.REVISIT)
    if not is_again and Reason(reason).weight is Weight.SKIPPED:
        return
    capture_time = row.seen if row.seen and _is_time(row.seen) else None
    version = row.about if row.about in versions else None
    if reason == Reason.DUPLICATE and version is None:
        return
    href = f"/file/{version}" if is_again and version else build_url("/show", key=row.url)
    sort: Sort = "same-bytes" if is_again else "failed"
    yield StoryCapture(
        capture_time or format_datetime14(row.entered_at),
        sort,
        version if is_again else None,
        reason,
        capture_time is None,
        href,
    )


def _is_time(text: str) -> bool:
    try:
        parse_datetime14(text)
    except ValueError:
        return False
    return True


def describe_capture(capture: StoryCapture) -> str:
    """Describe a capture of a story in a few words, such as `text changed`."""
    description = CAPTURE_WORDS[capture.sort]
    if capture.sort == "failed" and capture.reason:
        description = f"{description}: {capture.reason}"
    return f"{description}, received then" if capture.is_entered else description
