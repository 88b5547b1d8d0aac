"""Silent edits: stories of which a later version has another headline or text, as a list and as a feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from xml.etree import ElementTree as Xml

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, Response

from fonds.library.reading.edited import Edit, edit
from fonds.library.reading.edits import Change, Window, window
from fonds.model.capture import from_datetime14
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.marks import TEXT_MAX_CHARS, Mark, MarkedList
from fonds.web.parameters import shorten
from fonds.web.rendering import OpenStores, link, page
from fonds.web.serving.atom import MEDIA_TYPE, NEVER, add, clean, new_feed, written
from fonds.web.serving.tables import tabled

FEED_WINDOWS, FEED_ENTRIES = 5, 50
SITE_MAX_CHARS = 300
LATER = MarkedList("captured", ("sha1hex",))
CHANGE_WORDS = {
    Change.EDITED: "headline or text edited",
    Change.SAME_TEXT: "other bytes, the same headline and text",
    Change.OTHER_EXTRACTOR: "read by different programs, not compared",
    Change.UNKNOWN: "text missing, not compared",
}

router = APIRouter(dependencies=[READS])


def _checked(text: str) -> str:
    mark = LATER.read(text)
    if mark is not None and not (isinstance(mark.time, int) and 0 <= mark.time < 10**14):
        raise ValueError("it is no place in this list; begin at its first page")
    return text


Site = Annotated[
    str, Query(max_length=SITE_MAX_CHARS, description="Stories of this site, as a search names it")
]


class EditsForm(BaseModel):
    """Which later versions; without parameters the newest that were edited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    site: str = Field(
        "", max_length=SITE_MAX_CHARS, description="Stories of this site, as a search names it"
    )
    change: Literal["edited", "same-text", "other-extractor", "unknown"] = Field(
        "edited", description="What became of headline and text"
    )
    after: Annotated[str, AfterValidator(_checked)] = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )


@dataclass(frozen=True, slots=True)
class EditsPage:
    """One page of the walk: `walked` versions were gone by, `later` of them have one before them, `counts` of
    each change. `rows` are those of the change asked for. `next` begins the page behind it, None at the end.
    """

    site: str
    change: Change
    walked: int
    later: int
    counts: Mapping[str, int]
    next: str | None
    rows: Sequence[Edit]


def edits_page(stores: Stores, form: EditsForm) -> EditsPage:
    """The page that begins at `after`, whatever change is asked for: its counts are of the same versions."""
    mark = LATER.read(form.after)
    found = window(stores, form.site.strip().lower(), _after(mark))
    counted = Counter(one.change for one in found.later)
    return EditsPage(
        site=form.site,
        change=Change(form.change),
        walked=found.walked,
        later=len(found.later),
        counts={str(one): counted[one] for one in Change},
        next=_next(mark, found),
        rows=[edit(one) for one in found.later if one.change == form.change],
    )


def _after(mark: Mark | None) -> Mapping[str, object] | None:
    if mark is None:
        return None
    return {"captured": f"{mark.time:014d}", "sha1hex": mark.key[0]}


def _next(mark: Mark | None, found: Window) -> str | None:
    if found.last is None:
        return None
    position = (mark.position if mark else 0) + found.walked
    key = (str(found.last["sha1hex"]),)
    return Mark(position, int(str(found.last["captured"])), key).text()


@tabled(router, "/changes", lambda found: found.rows)
@router.get("/changes.json", include_in_schema=False)
@router.get("/api/changes", summary="Stories of which a later version has another headline or text")
def edits_json(stores: OpenStores, form: Annotated[EditsForm, Query()]) -> EditsPage:
    """A page of the walk over versions of stories, the one captured last first: at most 30 that have one
    before them, or 1,000 of any. A page may have no rows though pages behind it have some: follow `next`."""
    return edits_page(stores, form)


@router.get("/changes", include_in_schema=False)
def edits_html(
    request: Request, stores: OpenStores, form: Annotated[EditsForm, Query()]
) -> HTMLResponse:
    """The same as a page."""
    found = edits_page(stores, form)
    of_site = f" of {shorten(form.site, 100)}" if form.site else ""
    params = form.model_dump()
    return page(
        request,
        "edits.html",
        heading=f"Silent edits{of_site}",
        found=found,
        form=form,
        words=CHANGE_WORDS,
        others={one: link("/changes", **{**params, "change": str(one)}) for one in Change},
        feed=link("/changes.atom", site=form.site),
        every_site=link("/changes", change=form.change),
        first_href=link("/changes", **{**params, "after": ""}) if form.after else None,
        next_href=link("/changes", **{**params, "after": found.next}) if found.next else None,
    )


@router.get("/changes.atom", response_class=Response, include_in_schema=False)
@router.get(
    "/api/changes.atom",
    response_class=Response,
    summary="Silent edits as an Atom feed: the fifty newest",
)
def edits_feed(request: Request, stores: OpenStores, site: Site = "") -> Response:
    """The edits among the newest 5 pages of the list, 50 at most."""
    origin = str(request.base_url).rstrip("/")
    rows = list(_newest(stores, site))[:FEED_ENTRIES]
    updated = max((from_datetime14(one.captured) for one in rows), default=NEVER)
    top = new_feed(
        f"Silent edits: {site or 'all sites'}",
        origin + link("/changes", site=site),
        origin + link("/changes.atom", site=site),
        updated,
    )
    for one in rows:
        _entry(top, origin, one)
    return Response(written(top), media_type=MEDIA_TYPE)


def _newest(stores: Stores, site: str) -> Iterator[Edit]:
    after = ""
    for _ in range(FEED_WINDOWS):
        found = edits_page(stores, EditsForm(site=site, change="edited", after=after))
        yield from found.rows
        if found.next is None:
            return
        after = found.next


def _entry(top: Xml.Element, origin: str, one: Edit) -> None:
    entry = add(top, "entry")
    add(entry, "id", f"{origin}{one.href}")
    add(entry, "title", one.title or one.url)
    add(entry, "updated", from_datetime14(one.captured).isoformat())
    Xml.SubElement(
        entry, "link", rel="alternate", type="text/html", href=clean(f"{origin}{one.href}")
    )
    add(entry, "summary", f"{one.summary}. {_in_words(one)}".strip())


def _in_words(one: Edit) -> str:
    """The headline before, then what went and came of headline and text, as plain text."""
    said: list[str] = [f"Headline before: {one.title_before or 'none'}."] * one.is_headline_changed
    told: dict[str, Any] = {"removed": "Removed", "added": "Added"}
    said += [
        f"{told[each.kind]}: {' '.join(each.text.split())}"
        for each in one.text
        if each.kind in told and each.text.strip()
    ]
    return " ".join(said)
