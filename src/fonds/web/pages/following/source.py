"""One source: what its polls saw, and where its links got lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from starlette.responses import HTMLResponse

from fonds.model.numbers import how_many
from fonds.pipelines import PIPELINES
from fonds.ports import Records
from fonds.sources.following.backfill.wishes import nothing_older
from fonds.sources.following.days import SourceDay, judged
from fonds.sources.following.described import Followed, Poll, followed
from fonds.web.access.declared import READS
from fonds.web.pages.following.lost import Passage, passage
from fonds.web.pages.following.sources import DAYS_SHOWN, SourceLine, source_line
from fonds.web.pages.following.strip import days_strip
from fonds.web.rendering import OpenStores, page
from fonds.web.serving.tables import tabled

SourceId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a source")]

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A source, its last polls, the newest first, and what became of its links.

    `links` of them entered, in all its polls; `passage` says where they and those that were refused ended.
    `days` are the last 90, the last of them today; `silent_since` says since when it lists nothing, where
    it listed `listed` links before. `form` is the format of its listings and what their links are told with;
    it was `form_before` until `form_changed`. `nothing_older` says why it can have no backfill, None where it
    may.
    """

    answer: str
    source: SourceLine
    collection: str
    folder: str
    pipeline: str
    status: int | None
    moved_from: str | None
    listed: int
    silent_since: datetime | None
    form: str | None
    form_before: str | None
    form_changed: datetime | None
    nothing_older: str | None
    links: int
    passage: Passage
    days: Sequence[SourceDay]
    polls: Sequence[Poll]


def source_page(records: Records, source_id: str, now: datetime) -> SourcePage:
    """A source. Raises HTTPException 404 where there is none of this id."""
    found = found_source(records, source_id, now)
    row = found.source
    return SourcePage(
        _answer(found),
        source_line(row, now, found.ended),
        row.collection,
        row.folder,
        row.pipeline,
        row.status,
        row.moved_from,
        row.listed,
        row.silent_since,
        row.form,
        row.form_before,
        row.form_changed,
        nothing_older(row) or None,
        found.links,
        passage(found),
        judged(row, now.astimezone(UTC).date(), DAYS_SHOWN),
        found.polls,
    )


def found_source(records: Records, source_id: str, now: datetime) -> Followed:
    """A source with all that is known. Raises HTTPException 404 where there is none of this id."""
    found = followed(records, source_id, now, [*PIPELINES])
    if found is None:
        raise HTTPException(404, "There is no source of this id.")
    return found


def _answer(found: Followed) -> str:
    name = found.source.title or found.source.url
    whole = passage(found)
    if not whole.announced:
        return f"{name} is {found.standing} and brought nothing yet"
    kept = f"{whole.kept:,} were kept" if whole.kept != 1 else "1 was kept"
    return f"{name} is {found.standing}: of {how_many(whole.announced, 'link')} it listed {kept}"


@tabled(router, "/sources/{source_id}", lambda found: found.polls)
@router.get("/sources/{source_id}.json", include_in_schema=False)
@router.get("/api/sources/{source_id}", summary="One source")
def source_json(stores: OpenStores, source_id: SourceId) -> SourcePage:
    """What its polls saw, and what became of its links by outcome, reason and step."""
    return source_page(stores.records, source_id, datetime.now(UTC))


@router.get("/sources/{source_id}", include_in_schema=False)
def source_html(request: Request, stores: OpenStores, source_id: SourceId) -> HTMLResponse:
    """A source and where its links got lost."""
    found = source_page(stores.records, source_id, datetime.now(UTC))
    strip = days_strip(source_id, found.days)
    return page(request, "source.html", heading=found.answer, found=found, strip=strip)
