"""Changes between two versions of a story, word by word, in headline, byline, date and text.

Versions read by different extractors can be read again by the current one. Then all differences
come from the page, none from the extractors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from fonds.derivatives.kinds import KINDS
from fonds.ingest.catch_up import CatchUpSelection
from fonds.model.access import Role
from fonds.model.errors import ConfigurationError
from fonds.model.keys import parse_sha1
from fonds.model.rows import DispositionRow
from fonds.ports import Records, Stores
from fonds.viewer.story_versions import (
    StoryHead,
    StoryPart,
    StoryVersions,
    VersionDifference,
    align_stretches,
    compare_two_versions,
    list_changed_parts,
    load_story_head,
    load_versions,
)
from fonds.viewer.word_diff import WORDS_MAX, trim_unchanged
from fonds.web.access.roles import READS
from fonds.web.actions import (
    CROSS_SITE_FORM_MESSAGE,
    Action,
    FormResult,
    FormRoute,
    InvalidParameterError,
    add_actions,
)
from fonds.web.html.rendering import CurrentSettings, OpenStores, build_url, render_page
from fonds.web.pages.file import find_file_title, load_file, redirect_spelling
from fonds.web.serving.problems import RefusedError
from fonds.wiring.pipelines import send_catchup
from fonds.wiring.readers import name_extractors

STORY = next(kind for kind in KINDS if kind.name == "story")


def is_being_read(records: Records, sha1hexes: list[str]) -> bool:
    """Return whether one of these story versions is queued to be read again by an extractor."""
    step = STORY.reading.step if STORY.reading else ""
    where = {"about": sha1hexes, "step": step, "is_open": True}
    return any(True for _ in records.find(DispositionRow, where, count_max=1))


class VersionIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that has two versions of a story read again: the SHA-1 of the version that the other is
    compared with.
    """

    since: str


def read_again(
    stores: OpenStores, settings: CurrentSettings, sha1hex: str, sent: VersionIn
) -> tuple[str, str]:
    """Queue both versions to be read by the current extractor, unless they are queued already.

    Return their SHA-1s.

    Raises InvalidParameterError if they are not two versions of a story, RefusedError 409 if no
    step reads stories.
    """
    sha1hexes = _parse_both(stores, sha1hex, sent.since)
    names = name_extractors(settings)
    reading = STORY.reading
    selection = CatchUpSelection(
        kind=STORY,
        extractor=reading.extractor(names) if reading else "",
        rereads=True,
        only_files=frozenset(sha1hexes),
    )
    try:
        send_catchup(stores, settings, selection, lambda sent, captures: None)
    except ConfigurationError as error:
        raise RefusedError(409, f"Nothing was changed: {error}.") from error
    return sha1hexes


def _parse_both(stores: Stores, sha1hex: str, since: str) -> tuple[str, str]:
    """Return the SHA-1s of two versions of a story in hex.

    Raises RefusedError 400 for an invalid SHA-1, HTTPException 404 if the first file is no story,
    and InvalidParameterError if `since` is not another version of that story.
    """
    raws = parse_sha1(sha1hex), parse_sha1(since)
    if raws[0] is None or raws[1] is None:
        raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
    sha1hexes = raws[0].hex(), raws[1].hex()
    heads = [load_story_head(stores.records, version) for version in sha1hexes]
    if heads[0] is None:
        raise HTTPException(404, f"{sha1hexes[0]} is not a story, so it has no versions.")
    if heads[1] is None or heads[0].story_id != heads[1].story_id or sha1hexes[0] == sha1hexes[1]:
        raise InvalidParameterError("These files are not two versions of one story.", "since")
    return sha1hexes


def _link_to_versions(result: FormResult[VersionIn, tuple[str, str]]) -> str:
    sha1hex, since = result.answer
    return build_url(f"/file/{sha1hex}/changes", since=since)


action_router = APIRouter(tags=["edits"])
add_actions(
    action_router,
    Action(
        "extract two versions of a story again",
        Role.CURATOR,
        read_again,
        VersionIn,
        FormRoute("/file/{sha1hex}/changes", _link_to_versions),
    ),
)


PART_NAMES = {"title": "Headline", "byline": "Byline", "published": "Day", "text": "Text"}
SINCE_MAX_CHARS = 100

router = APIRouter(tags=["edits"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class StoryChangesPage:
    """Comparison of version `sha1hex` of a story with version `since`.

    `captured`, `since_captured`: capture times with 14 digits.
    `extractor`, `since_extractor`: extractors that read the versions.
    `parts`: headline, byline, date and text.
    """

    sha1hex: str
    since: str
    title: str
    captured: str
    since_captured: str
    extractor: str
    since_extractor: str
    difference: VersionDifference
    parts: Sequence[StoryPart]
    versions: StoryVersions


Since = Annotated[
    str,
    Query(
        max_length=SINCE_MAX_CHARS,
        description="SHA-1 of the version to compare with; default: the previous version",
    ),
]


def build_changes(stores: Stores, sha1hex: str, title: str, since: str) -> StoryChangesPage:
    """Compare two versions of a story.

    Raises HTTPException 404 if the file is no story, RefusedError 400 if `since` is no version of
    the same story.
    """
    head = load_story_head(stores.records, sha1hex)
    if head is None:
        raise HTTPException(404, f"{sha1hex} is not a story, so it has no versions.")
    versions = load_versions(stores.records, head.story_id)
    other_sha1hex = _choose_other_version(stores, head, versions, sha1hex, since)
    other_head = load_story_head(stores.records, other_sha1hex) or head
    return StoryChangesPage(
        sha1hex=sha1hex,
        since=other_sha1hex,
        title=title,
        captured=head.captured,
        since_captured=other_head.captured,
        extractor=head.extractor,
        since_extractor=other_head.extractor,
        difference=compare_two_versions(stores.records, other_sha1hex, sha1hex),
        parts=list_changed_parts(stores, other_sha1hex, sha1hex),
        versions=versions,
    )


def _choose_other_version(
    stores: Stores, head: StoryHead, versions: StoryVersions, sha1hex: str, since: str
) -> str:
    """Return the SHA-1 of the version to compare with: `since` or, without it, the version captured
    before `sha1hex`.

    Return `sha1hex` itself if there is no earlier version. Raises RefusedError 400 if `since` is no
    version of the story.
    """
    keys = [version.sha1hex for version in versions.shown]
    if not since:
        position = keys.index(sha1hex) if sha1hex in keys else 0
        return keys[position - 1] if position else sha1hex
    raw = parse_sha1(since)
    other_head = load_story_head(stores.records, raw.hex()) if raw is not None else None
    if raw is None or other_head is None or other_head.story_id != head.story_id:
        message = f"The parameter “since” is “{since}”: no version of this story has this SHA-1."
        raise RefusedError(400, message, parameter="since")
    return raw.hex()


@router.get("/file/{sha1hex}/changes.json", include_in_schema=False)
@router.get(
    "/api/files/{sha1hex}/changes",
    summary="Changes between two versions of a story",
    operation_id="get_story_changes",
)
def changes_json(stores: OpenStores, sha1hex: str, since: Since = "") -> StoryChangesPage:
    """Return the unchanged, added and removed passages of each part of a story."""
    file = load_file(stores, sha1hex)
    return build_changes(stores, file.sha1hex, find_file_title(file)[0], since)


@router.get("/file/{sha1hex}/changes", include_in_schema=False)
def changes_html(
    request: Request, stores: OpenStores, sha1hex: str, since: Since = "", whole: bool = False
) -> Response:
    """Show the comparison as a page. With `whole`, unchanged words are shown in full."""
    redirect = redirect_spelling(
        sha1hex, build_url("/changes", since=since, whole="1" if whole else "")
    )
    if redirect is not None:
        return redirect
    file = load_file(stores, sha1hex)
    title, language = find_file_title(file)
    changes = build_changes(stores, sha1hex, title, since)
    changed_parts = [part for part in changes.parts if part.is_changed]
    return render_page(
        request,
        "changes.html",
        heading=f"What changed: {title}",
        page=changes,
        language=language,
        changed=changed_parts,
        summary=_format_summary(changed_parts),
        names=PART_NAMES,
        words_max=WORDS_MAX,
        whole=whole,
        shortened=trim_unchanged,
        beside=align_stretches,
        is_being_read=is_being_read(stores.records, [changes.sha1hex, changes.since]),
    )


def _format_summary(changed_parts: Sequence[StoryPart]) -> str:
    """Summarize how many words the text of a story gained and lost, and which other parts
    changed.
    """
    counts = [(part.diff.added, part.diff.removed) for part in changed_parts if part.name == "text"]
    words = [f"+{added_count:,} −{removed_count:,} words" for added_count, removed_count in counts]
    other_parts = [PART_NAMES[part.name].lower() for part in changed_parts if part.name != "text"]
    also = [f"{' and '.join(other_parts)} changed"] if other_parts else []
    return ", ".join([*words, *also])
