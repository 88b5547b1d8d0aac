"""What changed between two versions of a story, word by word: headline, byline, day and text apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from fonds.library.reading.side_by_side import side_by_side
from fonds.library.reading.story import (
    Difference,
    Part,
    StoryHead,
    Versions,
    difference,
    parts_changed,
    story_head,
    versions_of,
)
from fonds.library.reading.word_diff import WORDS_MAX, changes_only
from fonds.model.keys import sha1_from_text
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.pages.file import file_title
from fonds.web.pages.reading.read_file import known_file, other_spelling
from fonds.web.pages.reading.rereading import is_being_read
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, link, page

PART_NAMES = {"title": "Headline", "byline": "Byline", "published": "Day", "text": "Text"}
SINCE_MAX_CHARS = 100

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class Changes:
    """Version `sha1hex` of a story held against version `since`, captured at 14 digits each, read by an
    extractor each; `parts` are headline, byline, day and text."""

    sha1hex: str
    since: str
    title: str
    captured: str
    since_captured: str
    extractor: str
    since_extractor: str
    difference: Difference
    parts: Sequence[Part]
    versions: Versions


Since = Annotated[
    str,
    Query(
        max_length=SINCE_MAX_CHARS,
        description="SHA-1 of the version compared with; without it the one before",
    ),
]


def changes(stores: Stores, sha1hex: str, title: str, since: str) -> Changes:
    """Raises HTTPException 404 for a file that is no story, RefusedError 400 for what is no version of it."""
    head = story_head(stores.records, sha1hex)
    if head is None:
        raise HTTPException(404, f"{sha1hex} is no story, so it has no versions.")
    versions = versions_of(stores.records, head.story_id)
    other = _other(stores, head, versions, sha1hex, since)
    other_head = story_head(stores.records, other) or head
    return Changes(
        sha1hex=sha1hex,
        since=other,
        title=title,
        captured=head.captured,
        since_captured=other_head.captured,
        extractor=head.extractor,
        since_extractor=other_head.extractor,
        difference=difference(stores.records, other, sha1hex),
        parts=parts_changed(stores, other, sha1hex),
        versions=versions,
    )


def _other(stores: Stores, head: StoryHead, versions: Versions, sha1hex: str, since: str) -> str:
    """The version that was asked for, or the one captured before."""
    keys = [one.sha1hex for one in versions.shown]
    if not since:
        at = keys.index(sha1hex) if sha1hex in keys else 0
        return keys[at - 1] if at else sha1hex
    raw = sha1_from_text(since)
    other = story_head(stores.records, raw.hex()) if raw is not None else None
    if raw is None or other is None or other.story_id != head.story_id:
        said = f"The parameter “since” is “{since}”: no version of this story has this SHA-1."
        raise RefusedError(400, said, parameter="since")
    return raw.hex()


@router.get("/file/{sha1hex}/changes.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}/changes", summary="What changed between two versions of a story")
def changes_json(stores: OpenStores, sha1hex: str, since: Since = "") -> Changes:
    """Stretches of words that are the same, added and removed, of each part of a story."""
    found = known_file(stores, sha1hex)
    return changes(stores, found.sha1hex, file_title(found)[0], since)


@router.get("/file/{sha1hex}/changes", include_in_schema=False)
def changes_html(
    request: Request, stores: OpenStores, sha1hex: str, since: Since = "", whole: bool = False
) -> Response:
    """The same as a page; with `whole` the words that are the same stand there too."""
    elsewhere = other_spelling(sha1hex, link("/changes", since=since, whole="1" if whole else ""))
    if elsewhere is not None:
        return elsewhere
    known = known_file(stores, sha1hex)
    title, language = file_title(known)
    found = changes(stores, sha1hex, title, since)
    changed = [part for part in found.parts if part.is_changed]
    return page(
        request,
        "changes.html",
        heading=f"What changed: {title}",
        found=found,
        language=language,
        changed=changed,
        summary=_summary(changed),
        names=PART_NAMES,
        words_max=WORDS_MAX,
        whole=whole,
        shortened=changes_only,
        beside=side_by_side,
        is_being_read=is_being_read(stores.records, [found.sha1hex, found.since]),
    )


def _summary(changed: Sequence[Part]) -> str:
    """How many words the text gained and lost, and what else is another."""
    counts = [(part.diff.added, part.diff.removed) for part in changed if part.name == "text"]
    words = [f"+{added:,} −{removed:,} words" for added, removed in counts]
    others = [PART_NAMES[part.name].lower() for part in changed if part.name != "text"]
    also = [f"{' and '.join(others)} changed"] if others else []
    return ", ".join([*words, *also])
