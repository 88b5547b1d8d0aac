"""What curators do with a source from its page: have it polled next or backfilled, pause, resume, mute it,
name it anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends
from starlette.responses import RedirectResponse

from fonds.following import backfill_requests
from fonds.following.backfill_requests import validate_days
from fonds.following.health import WORD_MAX_CHARS, mute, unmute
from fonds.following.source_edits import describe, poll_soon, set_state
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import LOCAL_NAME, TheViewer
from fonds.web.html.actions import FOREIGN_FORM_MESSAGE, FormFields, parse_day
from fonds.web.html.rendering import OpenStores, capitalize
from fonds.web.pages.source import SourceId, SourcePage, build_source_page
from fonds.web.serving.json_requests import SentJson, decode_body, takes
from fonds.web.serving.problems import RefusedError

EDITED, MUTED = ("title", "folder", "collection"), ("until", "note")
BACKFILLED = ("from", "to", "undated")
FIELDS = frozenset({*EDITED, *MUTED, *BACKFILLED})

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class SourceAct(StrEnum):
    """What is done with a source; the words of `fonds sources`."""

    POLL = "poll"
    PAUSE = "pause"
    RESUME = "resume"
    MUTE = "mute"
    UNMUTE = "unmute"
    EDIT = "edit"
    BACKFILL = "backfill"
    STOP_BACKFILL = "stop-backfill"


_STATE_ACTS = (SourceAct.POLL, SourceAct.BACKFILL, SourceAct.STOP_BACKFILL)


@router.post("/sources/{source_id}/{act}")
def act_html(
    stores: OpenStores,
    source_id: SourceId,
    act: SourceAct,
    text: Annotated[dict[str, str], Depends(FormFields(FIELDS, has_only_sent=True))],
    viewer: TheViewer,
) -> RedirectResponse:
    """Do it, and lead back to the source, which says how it stands; done twice it is as done once."""
    known = {SourceAct.EDIT: EDITED, SourceAct.MUTE: MUTED, SourceAct.BACKFILL: BACKFILLED}.get(
        act, ()
    )
    if not text.keys() <= set(known):
        raise RefusedError(400, FOREIGN_FORM_MESSAGE)
    perform_act(stores.records, source_id, act, text, viewer.name or LOCAL_NAME)
    return RedirectResponse(f"/sources/{source_id}", 303)


def perform_act(
    records: Records,
    source_id: str,
    act: SourceAct,
    text: Mapping[str, str],
    actor: str = LOCAL_NAME,
) -> None:
    """Do it in somebody's name. Raises RefusedError 404 where there is no such source, 409 for one that
    cannot be polled or backfilled as it stands, 400 for words that cannot be."""
    rows = records.get(SourceRow, [source_id])
    if not rows:
        raise RefusedError(404, "There is no source of this id.")
    try:
        _perform_act(records, rows[0], act, text, actor)
    except ConfigurationError as error:
        is_state = act in _STATE_ACTS or (act is SourceAct.MUTE and rows[0].state != "active")
        status = 409 if is_state else 400
        raise RefusedError(status, capitalize(str(error))) from None


def _perform_act(
    records: Records, row: SourceRow, act: SourceAct, text: Mapping[str, str], actor: str
) -> None:
    now = datetime.now(UTC)
    match act:
        case SourceAct.POLL:
            poll_soon(records, row, now)
        case SourceAct.PAUSE:
            set_state(records, row, "paused", now)
        case SourceAct.RESUME:
            set_state(records, row, "active", now)
        case SourceAct.MUTE:
            until = parse_day(text.get("until", ""), "until")
            mute(records, row, until, text.get("note", ""), now)
        case SourceAct.UNMUTE:
            unmute(records, row)
        case SourceAct.EDIT:
            describe(records, row, **text)
        case SourceAct.BACKFILL:
            days, takes_undated = parse_days(text, now), bool(text.get("undated"))
            backfill_requests.request_backfill(
                records, row, days, actor, now, takes_undated=takes_undated
            )
        case SourceAct.STOP_BACKFILL:
            backfill_requests.stop_backfill(records, row, now)


def parse_days(text: Mapping[str, str], now: datetime) -> tuple[date, date]:
    """The days in the fields `from` and `to`. Raises RefusedError 400 for none that can be."""
    first, last = (parse_day(text.get(name, ""), name) for name in ("from", "to"))
    if first is None:
        raise RefusedError(400, "Say from which day on.", parameter="from")
    try:
        return backfill_requests.validate_days(first.date(), last.date() if last else None, now)
    except ValueError as error:
        raise RefusedError(400, capitalize(str(error)), parameter="from") from None


# What programs do with a source: the acts of its page, answered with the source as it is then.


PATH = "/api/sources/"
_Word = Annotated[str, msgspec.Meta(max_length=WORD_MAX_CHARS)]
_Name = Annotated[str, msgspec.Meta(max_length=WORD_MAX_CHARS, pattern=r"\S")]


class SourceEditIn(msgspec.Struct, forbid_unknown_fields=True):
    """What a source is called, the folder it stands in when exported, and the collection its links come into
    from now on; what is left out stays."""

    title: _Word | msgspec.UnsetType = msgspec.UNSET
    folder: _Word | msgspec.UnsetType = msgspec.UNSET
    collection: _Name | msgspec.UnsetType = msgspec.UNSET


API_FIELDS = tuple(one.name for one in msgspec.structs.fields(SourceEditIn))
_TAKES = takes(
    {**msgspec.json.schema(SourceEditIn)["$defs"]["SourceEditIn"], "minProperties": 1},
    {"title": "The Example", "folder": "news/europe"},
)


class MuteIn(msgspec.Struct, forbid_unknown_fields=True):
    """Until which day a source is muted, from its beginning in UTC, or until it is well again; and why."""

    until: date | None = None
    note: _Word = ""


_MUTES = takes(
    msgspec.json.schema(MuteIn)["$defs"]["MuteIn"],
    {"until": "2027-01-31", "note": "they move house"},
)


class BackfillDaysIn(msgspec.Struct, forbid_unknown_fields=True):
    """The days a source is backfilled with, in UTC, the last of them today where none is said; and whether
    entries that say no day are taken, too."""

    first: date = msgspec.field(name="from")
    last: date | None = msgspec.field(name="to", default=None)
    undated: bool = False


_BACKFILLS = takes(
    msgspec.json.schema(BackfillDaysIn)["$defs"]["BackfillDaysIn"],
    {"from": "2025-01-01", "to": "2025-06-30"},
)


class SourceStateAct(StrEnum):
    """What is done with a source that needs no further words."""

    POLL = SourceAct.POLL.value
    PAUSE = SourceAct.PAUSE.value
    RESUME = SourceAct.RESUME.value
    UNMUTE = SourceAct.UNMUTE.value
    STOP_BACKFILL = SourceAct.STOP_BACKFILL.value


api_router = APIRouter(dependencies=[CURATES])


@api_router.post(f"{PATH}{{source_id}}/mute", summary="Mute a source", openapi_extra=_MUTES)
def mute_json(stores: OpenStores, source_id: SourceId, sent: SentJson) -> SourcePage:
    """Say that what ails it needs nobody, as `fonds sources mute`: until a day, from its beginning in UTC, or
    without one until it is well again. It is polled as before.

    409 for a source that is paused or gone; 400 for one that is well where no day is said, and a day that is
    over.
    """
    words = decode_body(sent.strip() or b"{}", MuteIn)
    said = {"until": words.until.isoformat() if words.until else "", "note": words.note}
    perform_act(stores.records, source_id, SourceAct.MUTE, said)
    return build_source_page(stores.records, source_id, datetime.now(UTC))


@api_router.post(
    f"{PATH}{{source_id}}/backfill", summary="Backfill a source", openapi_extra=_BACKFILLS
)
def backfill_json(
    stores: OpenStores, source_id: SourceId, sent: SentJson, viewer: TheViewer
) -> SourcePage:
    """Have what it published on these days taken in, as `fonds sources backfill`, as far as it offers older
    pages. The `fonds run` that is at work, or the next one, reads them.

    409 for a source that is paused or gone, that is known to offer nothing older, or that is being
    backfilled; 400 for days that are none, are yet to come, or in the wrong order.
    """
    words = decode_body(sent, BackfillDaysIn)
    try:
        validate_days(words.first, words.last, datetime.now(UTC))
    except ValueError as error:
        raise RefusedError(400, capitalize(str(error)), pointer="/from") from None
    said = {"from": words.first.isoformat(), "to": words.last.isoformat() if words.last else ""}
    said |= {"undated": "yes"} if words.undated else {}
    perform_act(stores.records, source_id, SourceAct.BACKFILL, said, viewer.name or LOCAL_NAME)
    return build_source_page(stores.records, source_id, datetime.now(UTC))


@api_router.post(
    f"{PATH}{{source_id}}/{{act}}",
    summary="Poll a source next, pause, resume or unmute it, or stop its backfill",
)
def act_json(
    stores: OpenStores, source_id: SourceId, act: SourceStateAct, sent: SentJson
) -> SourcePage:
    """As `fonds sources poll`, `pause`, `resume`, `unmute` and `backfill --stop`; done twice it is as done
    once. It takes no body.

    409 for a source to be polled that is paused or gone, or is being polled now.
    """
    if sent.strip() not in (b"", b"{}"):
        raise RefusedError(400, "This takes no body.", pointer="")
    perform_act(stores.records, source_id, SourceAct(act.value), {})
    return build_source_page(stores.records, source_id, datetime.now(UTC))


@api_router.patch(f"{PATH}{{source_id}}", summary="Give a source other words", openapi_extra=_TAKES)
def edit_json(stores: OpenStores, source_id: SourceId, sent: SentJson) -> SourcePage:
    """Another title, folder or collection, as `fonds sources edit`; what is left out stays, and so do links
    that came in before."""
    words = msgspec.structs.asdict(decode_body(sent, SourceEditIn))
    said = {name: word for name, word in words.items() if word is not msgspec.UNSET}
    if not said:
        raise RefusedError(400, f"Say what is to change: {', '.join(API_FIELDS)}.", pointer="")
    perform_act(stores.records, source_id, SourceAct.EDIT, said)
    return build_source_page(stores.records, source_id, datetime.now(UTC))
