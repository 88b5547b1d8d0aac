"""Silent edits: stories of which a later version has another headline or text, as a list and an
Atom feed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from xml.etree import ElementTree as Xml

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, Response

from fonds.model.capture import parse_datetime14
from fonds.ports import Stores
from fonds.viewer.edits import Edit, EditKind, VersionWindow, build_edit, load_window
from fonds.web.access.roles import READS
from fonds.web.html.paging import TEXT_MAX_CHARS, CursorList, PageCursor
from fonds.web.html.rendering import OpenStores, build_url, render_page
from fonds.web.serving.atom import (
    MEDIA_TYPE,
    NO_UPDATE_AT,
    add,
    clean,
    create_feed,
    encode_feed,
)
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.parameters import shorten

FEED_WINDOWS, FEED_ENTRIES = 5, 50
SITE_MAX_CHARS = 300
LATER = CursorList("captured", ("sha1hex",))
CHANGE_WORDS = {
    EditKind.EDITED: "headline or text changed",
    EditKind.SAME_TEXT: "headline and text unchanged",
    EditKind.OTHER_EXTRACTOR: "extracted by different programs, not compared",
    EditKind.UNKNOWN: "text missing, not compared",
}

router = APIRouter(tags=["edits"], dependencies=[READS])


def _validate_site(text: str) -> str:
    mark = LATER.decode(text)
    if mark is not None and not (isinstance(mark.time, int) and 0 <= mark.time < 10**14):
        raise ValueError("it is not a cursor of this list; start at the first page")
    return text


Site = Annotated[
    str, Query(max_length=SITE_MAX_CHARS, description="Only stories of this site, as in a search")
]


class EditsForm(BaseModel):
    """Query parameters that select story versions that have a previous version. By default, the
    newest versions with edits.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    site: str = Field(
        "", max_length=SITE_MAX_CHARS, description="Only stories of this site, as in a search"
    )
    change: Literal["edited", "same-text", "other-extractor", "unknown"] = Field(
        "edited", description="Kind of change"
    )
    after: Annotated[str, AfterValidator(_validate_site)] = Field(
        "",
        max_length=TEXT_MAX_CHARS,
        description="Cursor of the next page: `next` of the previous response",
    )


@dataclass(frozen=True, slots=True)
class EditsPage:
    """One page of the list of silent edits (later versions of stories).

    `walked`: number of versions that were examined for the page.
    `later`: number of examined versions of which the library has a previous version.
    `counts`: number of those later versions by kind of change.
    `rows`: the later versions with the requested kind of change.
    `next`: cursor of the next page, None on the last page.
    """

    site: str
    change: EditKind
    walked: int
    later: int
    counts: Mapping[str, int]
    next: str | None
    rows: Sequence[Edit]


def build_edits_page(stores: Stores, form: EditsForm) -> EditsPage:
    """Build the page of the list of silent edits that begins after the cursor of the form.

    The counts of the page cover the same versions whatever kind of change is requested.
    """
    mark = LATER.decode(form.after)
    window = load_window(stores, form.site.strip().lower(), _build_cursor(mark))
    changes = Counter(version.change for version in window.later)
    return EditsPage(
        site=form.site,
        change=EditKind(form.change),
        walked=window.walked,
        later=len(window.later),
        counts={str(version): changes[version] for version in EditKind},
        next=_build_next_mark(mark, window),
        rows=[build_edit(version) for version in window.later if version.change == form.change],
    )


def _build_cursor(mark: PageCursor | None) -> Mapping[str, object] | None:
    if mark is None:
        return None
    return {"captured": f"{mark.time:014d}", "sha1hex": mark.key[0]}


def _build_next_mark(mark: PageCursor | None, window: VersionWindow) -> str | None:
    if window.last is None:
        return None
    position = (mark.position if mark else 0) + window.walked
    key = (str(window.last["sha1hex"]),)
    return PageCursor(position, int(str(window.last["captured"])), key).encode()


@add_csv_route(router, "/changes", lambda page: page.rows)
@router.get("/changes.json", include_in_schema=False)
@router.get(
    "/api/changes", summary="Stories that changed after publication", operation_id="list_edits"
)
def edits_json(stores: OpenStores, form: Annotated[EditsForm, Query()]) -> EditsPage:
    """List edits of stories, the version captured last first.

    A page examines versions until 30 of them have a previous version, and at most 1,000. It may
    have no rows although later pages have some: follow `next`.
    """
    return build_edits_page(stores, form)


@router.get("/changes", include_in_schema=False)
def edits_html(
    request: Request, stores: OpenStores, form: Annotated[EditsForm, Query()]
) -> HTMLResponse:
    """Show the edits."""
    page = build_edits_page(stores, form)
    of_site = f" from {shorten(form.site, 100)}" if form.site else ""
    params = form.model_dump()
    return render_page(
        request,
        "edits.html",
        heading=f"Edited stories{of_site}",
        page=page,
        form=form,
        words=CHANGE_WORDS,
        others={
            kind: build_url("/changes", **{**params, "change": str(kind)}) for kind in EditKind
        },
        feed=build_url("/changes.atom", site=form.site),
        every_site=build_url("/changes", change=form.change),
        first_href=build_url("/changes", **{**params, "after": ""}) if form.after else None,
        next_href=build_url("/changes", **{**params, "after": page.next}) if page.next else None,
    )


@router.get("/changes.atom", response_class=Response, include_in_schema=False)
@router.get(
    "/api/changes.atom",
    response_class=Response,
    summary="Atom feed of the 50 latest edits",
    operation_id="get_edits_feed",
)
def edits_feed(request: Request, stores: OpenStores, site: Site = "") -> Response:
    """Return the newest edits of stories as an Atom feed: at most 50, from the first five pages of
    the list of edits."""
    origin = str(request.base_url).rstrip("/")
    rows = list(_iter_newest(stores, site))[:FEED_ENTRIES]
    updated_at = max(
        (parse_datetime14(edit_row.captured) for edit_row in rows), default=NO_UPDATE_AT
    )
    top = create_feed(
        f"Edited stories: {site or 'all sites'}",
        origin + build_url("/changes", site=site),
        origin + build_url("/changes.atom", site=site),
        updated_at,
    )
    for edit_row in rows:
        _add_entry(top, origin, edit_row)
    return Response(encode_feed(top), media_type=MEDIA_TYPE)


def _iter_newest(stores: Stores, site: str) -> Iterator[Edit]:
    cursor = ""
    for _ in range(FEED_WINDOWS):
        page = build_edits_page(stores, EditsForm(site=site, change="edited", after=cursor))
        yield from page.rows
        if page.next is None:
            return
        cursor = page.next


def _add_entry(top: Xml.Element, origin: str, edit: Edit) -> None:
    entry = add(top, "entry")
    add(entry, "id", f"{origin}{edit.href}")
    add(entry, "title", edit.title or edit.url)
    add(entry, "updated", parse_datetime14(edit.captured).isoformat())
    Xml.SubElement(
        entry, "link", rel="alternate", type="text/html", href=clean(f"{origin}{edit.href}")
    )
    add(entry, "summary", f"{edit.summary}. {_format_edit(edit)}".strip())


def _format_edit(edit: Edit) -> str:
    """Return the previous headline and the removed and added text of an edit, as plain text."""
    sentences: list[str] = [
        f"Previous headline: {edit.title_before or 'none'}."
    ] * edit.is_headline_changed
    verbs: dict[str, Any] = {"removed": "Removed", "added": "Added"}
    sentences += [
        f"{verbs[part.kind]}: {' '.join(part.text.split())}"
        for part in edit.text
        if part.kind in verbs and part.text.strip()
    ]
    return " ".join(sentences)
