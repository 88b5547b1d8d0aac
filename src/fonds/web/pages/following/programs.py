"""What programs do with a source: the acts of its page, answered with the source as it is then."""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from fastapi import APIRouter

from fonds.sources.following.backfill.wishes import checked_days
from fonds.sources.following.standing import WORD_CHARACTERS_MAX
from fonds.web.access.declared import CURATES
from fonds.web.access.viewers import HERE, TheViewer
from fonds.web.pages.following.acting import Act, act_on
from fonds.web.pages.following.source import SourceId, SourcePage, source_page
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, sentence
from fonds.web.rest.service import SentJson, decoded, takes

PATH = "/api/sources/"
_Word = Annotated[str, msgspec.Meta(max_length=WORD_CHARACTERS_MAX)]
_Name = Annotated[str, msgspec.Meta(max_length=WORD_CHARACTERS_MAX, pattern=r"\S")]


class SentWords(msgspec.Struct, forbid_unknown_fields=True):
    """What a source is called, the folder it stands in when exported, and the collection its links come into
    from now on; what is left out stays."""

    title: _Word | msgspec.UnsetType = msgspec.UNSET
    folder: _Word | msgspec.UnsetType = msgspec.UNSET
    collection: _Name | msgspec.UnsetType = msgspec.UNSET


FIELDS = tuple(one.name for one in msgspec.structs.fields(SentWords))
_TAKES = takes(
    {**msgspec.json.schema(SentWords)["$defs"]["SentWords"], "minProperties": 1},
    {"title": "The Example", "folder": "news/europe"},
)


class SentMute(msgspec.Struct, forbid_unknown_fields=True):
    """Until which day a source is muted, from its beginning in UTC, or until it is well again; and why."""

    until: date | None = None
    note: _Word = ""


_MUTES = takes(
    msgspec.json.schema(SentMute)["$defs"]["SentMute"],
    {"until": "2027-01-31", "note": "they move house"},
)


class SentDays(msgspec.Struct, forbid_unknown_fields=True):
    """The days a source is backfilled with, in UTC, the last of them today where none is said; and whether
    entries that say no day are taken, too."""

    first: date = msgspec.field(name="from")
    last: date | None = msgspec.field(name="to", default=None)
    undated: bool = False


_BACKFILLS = takes(
    msgspec.json.schema(SentDays)["$defs"]["SentDays"], {"from": "2025-01-01", "to": "2025-06-30"}
)


class StateAct(StrEnum):
    """What is done with a source that needs no further words."""

    POLL = Act.POLL.value
    PAUSE = Act.PAUSE.value
    RESUME = Act.RESUME.value
    UNMUTE = Act.UNMUTE.value
    STOP_BACKFILL = Act.STOP_BACKFILL.value


router = APIRouter(dependencies=[CURATES])


@router.post(f"{PATH}{{source_id}}/mute", summary="Mute a source", openapi_extra=_MUTES)
def mute_json(stores: OpenStores, source_id: SourceId, sent: SentJson) -> SourcePage:
    """Say that what ails it needs nobody, as `fonds sources mute`: until a day, from its beginning in UTC, or
    without one until it is well again. It is polled as before.

    409 for a source that is paused or gone; 400 for one that is well where no day is said, and a day that is
    over.
    """
    words = decoded(sent.strip() or b"{}", SentMute)
    said = {"until": words.until.isoformat() if words.until else "", "note": words.note}
    act_on(stores.records, source_id, Act.MUTE, said)
    return source_page(stores.records, source_id, datetime.now(UTC))


@router.post(f"{PATH}{{source_id}}/backfill", summary="Backfill a source", openapi_extra=_BACKFILLS)
def backfill_json(
    stores: OpenStores, source_id: SourceId, sent: SentJson, viewer: TheViewer
) -> SourcePage:
    """Have what it published on these days taken in, as `fonds sources backfill`, as far as it offers older
    pages. The `fonds run` that is at work, or the next one, reads them.

    409 for a source that is paused or gone, that is known to offer nothing older, or that is being
    backfilled; 400 for days that are none, are yet to come, or in the wrong order.
    """
    words = decoded(sent, SentDays)
    try:
        checked_days(words.first, words.last, datetime.now(UTC))
    except ValueError as error:
        raise RefusedError(400, sentence(str(error)), pointer="/from") from None
    said = {"from": words.first.isoformat(), "to": words.last.isoformat() if words.last else ""}
    said |= {"undated": "yes"} if words.undated else {}
    act_on(stores.records, source_id, Act.BACKFILL, said, viewer.name or HERE)
    return source_page(stores.records, source_id, datetime.now(UTC))


@router.post(
    f"{PATH}{{source_id}}/{{act}}",
    summary="Poll a source next, pause, resume or unmute it, or stop its backfill",
)
def act_json(stores: OpenStores, source_id: SourceId, act: StateAct, sent: SentJson) -> SourcePage:
    """As `fonds sources poll`, `pause`, `resume`, `unmute` and `backfill --stop`; done twice it is as done
    once. It takes no body.

    409 for a source to be polled that is paused or gone, or is being polled now.
    """
    if sent.strip() not in (b"", b"{}"):
        raise RefusedError(400, "This takes no body.", pointer="")
    act_on(stores.records, source_id, Act(act.value), {})
    return source_page(stores.records, source_id, datetime.now(UTC))


@router.patch(f"{PATH}{{source_id}}", summary="Give a source other words", openapi_extra=_TAKES)
def edit_json(stores: OpenStores, source_id: SourceId, sent: SentJson) -> SourcePage:
    """Another title, folder or collection, as `fonds sources edit`; what is left out stays, and so do links
    that came in before."""
    words = msgspec.structs.asdict(decoded(sent, SentWords))
    said = {name: word for name, word in words.items() if word is not msgspec.UNSET}
    if not said:
        raise RefusedError(400, f"Say what is to change: {', '.join(FIELDS)}.", pointer="")
    act_on(stores.records, source_id, Act.EDIT, said)
    return source_page(stores.records, source_id, datetime.now(UTC))
