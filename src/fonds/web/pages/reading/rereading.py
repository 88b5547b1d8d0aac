"""Two versions of a story that different programs read are read again by one: what differs is the pages'."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException
from starlette.responses import RedirectResponse

from fonds.kinds import KINDS
from fonds.library.catchup.selection import Selection
from fonds.library.reading.story import story_head
from fonds.model.errors import ConfigurationError
from fonds.model.keys import sha1_from_text
from fonds.model.rows import DispositionRow
from fonds.ports import Records, Stores
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import NONE_OF_OURS, Fields
from fonds.web.problems import RefusedError
from fonds.web.rendering import InForce, OpenStores, link
from fonds.wiring.pipelines import catch_up
from fonds.wiring.readers import extractors

STORY = next(kind for kind in KINDS if kind.name == "story")
_FIELDS = Fields(frozenset({"since"}))

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


def is_being_read(records: Records, sha1hexes: list[str]) -> bool:
    """Whether one of them was sent to be read and has not been yet."""
    step = STORY.reading.step if STORY.reading else ""
    where = {"about": sha1hexes, "step": step, "is_open": True}
    return any(True for _ in records.find(DispositionRow, where, count_max=1))


@router.post("/file/{sha1hex}/changes")
def read_again_html(
    stores: OpenStores,
    settings: InForce,
    sha1hex: str,
    sent: Annotated[dict[str, str], Depends(_FIELDS)],
) -> RedirectResponse:
    """Send both to be read by the reader there is now, and lead back; what is on its way is not sent twice.

    Raises RefusedError 400 for what are no two versions of a story, 409 where no step reads stories.
    """
    both = _both(stores, sha1hex, sent["since"])
    names = extractors(settings)
    reading = STORY.reading
    wanted = Selection(
        kind=STORY,
        extractor=reading.extractor(names) if reading else "",
        again=True,
        only=frozenset(both),
    )
    try:
        catch_up(stores, settings, wanted, lambda sent, captures: None)
    except ConfigurationError as error:
        raise RefusedError(409, f"Nothing was sent: {error}.") from error
    return RedirectResponse(link(f"/file/{both[0]}/changes", since=both[1]), 303)


def _both(stores: Stores, sha1hex: str, since: str) -> tuple[str, str]:
    """The SHA-1s of the two, in hex."""
    raws = sha1_from_text(sha1hex), sha1_from_text(since)
    if raws[0] is None or raws[1] is None:
        raise RefusedError(400, NONE_OF_OURS)
    both = raws[0].hex(), raws[1].hex()
    heads = [story_head(stores.records, one) for one in both]
    if heads[0] is None:
        raise HTTPException(404, f"{both[0]} is no story, so it has no versions.")
    if heads[1] is None or heads[0].story_id != heads[1].story_id or both[0] == both[1]:
        raise RefusedError(400, "These are no two versions of one story.", parameter="since")
    return both
