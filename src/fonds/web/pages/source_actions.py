"""Actions on a source: poll it next, pause, resume, mute, edit or backfill it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter

from fonds.following import backfill_requests
from fonds.following.health import TEXT_MAX_CHARS
from fonds.following.health import mute as mute_source
from fonds.following.health import unmute as unmute_source
from fonds.following.source_edits import edit_source, poll_soon, set_state
from fonds.model.access import Role
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.web.access.viewers import ActorName
from fonds.web.actions import (
    Action,
    FormResult,
    FormRoute,
    InvalidParameterError,
    JsonRoute,
    NoParameters,
    add_actions,
)
from fonds.web.html.rendering import OpenStores, capitalize
from fonds.web.pages.source import SourceId, SourcePage, build_source_page
from fonds.web.serving.problems import RefusedError

PATH, API = "/sources/{source_id}", "/api/sources/{source_id}"
_Word = Annotated[str, msgspec.Meta(max_length=TEXT_MAX_CHARS)]
_Name = Annotated[str, msgspec.Meta(max_length=TEXT_MAX_CHARS, pattern=r"\S")]

router = APIRouter(tags=["sources"])


class SourceStateAct(StrEnum):
    """Action without parameters on a followed source, named as in the command `fonds sources`."""

    POLL = "poll"
    PAUSE = "pause"
    RESUME = "resume"
    UNMUTE = "unmute"
    STOP_BACKFILL = "stop-backfill"


class SourceEditIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that edits a source: its title, its folder in exports of sources, and the collection of
    its future links.

    Missing fields do not change.
    """

    title: _Word | msgspec.UnsetType = msgspec.UNSET
    folder: _Word | msgspec.UnsetType = msgspec.UNSET
    collection: _Name | msgspec.UnsetType = msgspec.UNSET


class MuteIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that mutes a source: the day on which its alerts return, in UTC, and why they are muted.

    Without a day, alerts return when the source recovers.
    """

    until: date | None = None
    note: _Word = ""


class BackfillDaysIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that backfills a source: first and last day to backfill, in UTC; the last day is today
    by default.

    `undated`: whether to include entries of the source without a date.
    """

    first: date = msgspec.field(name="from")
    last: date | None = msgspec.field(name="to", default=None)
    undated: bool = False


def change_state(stores: OpenStores, source_id: SourceId, act: SourceStateAct) -> SourcePage:
    """Change a source as `fonds sources poll`, `pause`, `resume`, `unmute`, `backfill --stop` do.

    Repeating an action changes nothing. There is no body.

    409 for polling a source that is paused or gone, or is being polled now.
    """
    records, now = stores.records, datetime.now(UTC)
    row = _load_source(records, source_id)
    match act:
        case SourceStateAct.POLL:
            poll_soon(records, row, now)
        case SourceStateAct.PAUSE:
            set_state(records, row, "paused", now)
        case SourceStateAct.RESUME:
            set_state(records, row, "active", now)
        case SourceStateAct.UNMUTE:
            unmute_source(records, row)
        case SourceStateAct.STOP_BACKFILL:
            backfill_requests.stop_backfill(records, row, now)
    return build_source_page(records, source_id, datetime.now(UTC))


def mute(stores: OpenStores, source_id: SourceId, sent: MuteIn) -> SourcePage:
    """Mute alerts for a source, as `fonds sources mute` does. Polling continues.

    Alerts return at the start of the day, in UTC, or without a day when the source recovers.

    409 for a source that is paused or gone. 400 for a healthy source without a day, and for a day
    in the past.
    """
    row, now = _load_source(stores.records, source_id), datetime.now(UTC)
    until = datetime.combine(sent.until, time.min, UTC) if sent.until else None
    try:
        mute_source(stores.records, row, until, sent.note, now)
    except ConfigurationError as error:
        if row.state != "active":
            raise
        raise InvalidParameterError(capitalize(str(error)), "until") from error
    return build_source_page(stores.records, source_id, datetime.now(UTC))


def backfill(
    stores: OpenStores, source_id: SourceId, sent: BackfillDaysIn, actor: ActorName
) -> SourcePage:
    """Backfill what a source published on these days, as `fonds sources backfill` does.

    It reaches as far back as the source offers older pages. The current or next `fonds run` reads
    them.

    409 for a source that is paused or gone, is known to have no older pages, or is being
    backfilled.
    400 for days that are invalid, in the future, or in the wrong order.
    """
    now = datetime.now(UTC)
    try:
        days = backfill_requests.validate_days(sent.first, sent.last, now)
    except ValueError as error:
        raise InvalidParameterError(capitalize(str(error)), "from") from error
    row = _load_source(stores.records, source_id)
    backfill_requests.request_backfill(
        stores.records, row, days, actor, now, takes_undated=sent.undated
    )
    return build_source_page(stores.records, source_id, datetime.now(UTC))


def edit(stores: OpenStores, source_id: SourceId, sent: SourceEditIn) -> SourcePage:
    """Change the title, folder or collection, as `fonds sources edit` does.

    Missing fields do not change, nor do links that were already added.
    """
    words = msgspec.structs.asdict(sent)
    changes = {name: text for name, text in words.items() if text is not msgspec.UNSET}
    if not changes:
        raise RefusedError(
            400, f"Give at least one field to change: {', '.join(words)}.", pointer=""
        )
    edit_source(stores.records, _load_source(stores.records, source_id), **changes)
    return build_source_page(stores.records, source_id, datetime.now(UTC))


def _load_source(records: Records, source_id: str) -> SourceRow:
    rows = records.get(SourceRow, [source_id])
    if not rows:
        raise RefusedError(404, "There is no source with this id.")
    return rows[0]


def _link_to_source(result: FormResult[Any, SourcePage]) -> str:
    return f"/sources/{result.answer.source.source_id}"


# Fixed paths must come before the one that takes any name.
add_actions(
    router,
    Action(
        "mute a source",
        Role.CURATOR,
        mute,
        MuteIn,
        FormRoute(f"{PATH}/mute", _link_to_source),
        JsonRoute(
            f"{API}/mute",
            "Mute a source",
            operation_id="mute_source",
            example={"until": "2027-01-31", "note": "redesign in progress"},
        ),
    ),
    Action(
        "backfill a source",
        Role.CURATOR,
        backfill,
        BackfillDaysIn,
        FormRoute(f"{PATH}/backfill", _link_to_source),
        JsonRoute(
            f"{API}/backfill",
            "Backfill a source",
            operation_id="backfill_source",
            example={"from": "2025-01-01", "to": "2025-06-30"},
        ),
    ),
    Action(
        "edit a source",
        Role.CURATOR,
        edit,
        SourceEditIn,
        FormRoute(f"{PATH}/edit", _link_to_source),
        JsonRoute(
            API,
            "Edit a source",
            "PATCH",
            operation_id="edit_source",
            example={"title": "The Example", "folder": "news/europe"},
            schema_extra={"minProperties": 1},
        ),
    ),
    Action(
        "change a source's state",
        Role.CURATOR,
        change_state,
        NoParameters,
        FormRoute(f"{PATH}/{{act}}", _link_to_source),
        JsonRoute(
            f"{API}/{{act}}",
            "Poll, pause, resume or unmute a source, or stop its backfill",
            operation_id="change_source_state",
        ),
    ),
)
