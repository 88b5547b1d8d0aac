"""The admin's page: keys and how they are used, made and revoked there; and what was changed by whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.access.keys import NAME_CHARACTERS_MAX, REASON_CHARACTERS_MAX
from fonds.model.access import Role
from fonds.model.numbers import how_many
from fonds.model.rows import AccessKeyRow
from fonds.web.access.declared import ADMINISTERS
from fonds.web.access.forms import Fields, day_of
from fonds.web.access.gate import Gate
from fonds.web.access.viewers import HERE, TheViewer
from fonds.web.problems import RefusedError
from fonds.web.rendering import page

ACTS_SHOWN = 200

router = APIRouter(dependencies=[ADMINISTERS])


@dataclass(frozen=True, slots=True)
class KeyTold:
    """A key, without anything its secret could be tried against; `state` is good, ended or revoked."""

    name: str
    role: str
    prefix: str
    state: str
    made_by: str
    row_created: datetime
    until: datetime | None
    last_used: datetime | None
    revoked: datetime | None
    revoked_by: str | None
    revoked_reason: str | None


@dataclass(frozen=True, slots=True)
class ActTold:
    """What somebody changed; `outcome` is the HTTP status, None where it did not end."""

    at: datetime
    who: str
    what: str
    outcome: int | None


@dataclass(frozen=True, slots=True)
class Admin:
    """All keys by their names, and the newest 200 acts."""

    keys: Sequence[KeyTold]
    acts: Sequence[ActTold]


def admin(gate: Gate) -> Admin:
    """Keys and acts."""
    acts = [ActTold(row.at, row.who, row.what, row.outcome) for row in gate.acts.newest(ACTS_SHOWN)]
    return Admin([_told(gate, row) for row in gate.keys.every()], acts)


def _told(gate: Gate, row: AccessKeyRow) -> KeyTold:
    state = "good" if gate.keys.is_good(row) else "revoked" if row.revoked else "ended"
    return KeyTold(
        row.name, row.role, row.prefix, state, row.made_by, row.row_created, row.until, row.last_used,
        row.revoked, row.revoked_by, row.revoked_reason,
    )  # fmt: skip


@router.get("/admin", include_in_schema=False)
def admin_html(request: Request) -> HTMLResponse:
    """Who may do what, and what was done."""
    found = admin(request.app.state.gate)
    good = sum(one.state == "good" for one in found.keys)
    return page(
        request,
        "admin.html",
        heading=f"{how_many(good, 'key')} may be used here" if found.keys else "Nobody made a key",
        found=found,
        shown_max=ACTS_SHOWN,
        reason_max=REASON_CHARACTERS_MAX,
        roles=list(Role),
        name_max=NAME_CHARACTERS_MAX,
    )


@router.get("/admin.json", include_in_schema=False)
@router.get("/api/admin", summary="Keys, and what was changed by whom")
def admin_json(request: Request) -> Admin:
    """All keys with role, last use and end; the newest 200 acts. For admins."""
    return admin(request.app.state.gate)


@router.post("/admin/keys", include_in_schema=False)
def make_key(
    request: Request,
    viewer: TheViewer,
    sent: Annotated[dict[str, str], Depends(Fields(frozenset({"name", "role", "until"})))],
) -> HTMLResponse:
    """Make a key, and answer with the page that shows its secret, once: no cache keeps it. 400 for a name
    that is none or was given out, for no role, and for a day that is none or over."""
    gate: Gate = request.app.state.gate
    if sent["role"] not in set(Role):
        raise RefusedError(400, f"Choose a role: {', '.join(Role)}.", parameter="role")
    until = day_of(sent["until"].strip(), "until")
    with _refusing_names():
        made = gate.keys.create(
            sent["name"].strip(), Role(sent["role"]), viewer.name or HERE, until
        )
    answer = page(
        request,
        "key_made.html",
        heading=f"The key of {made.row.name}, who is {made.row.role} here",
        secret=made.secret,
        until=made.row.until,
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.post("/admin/revoke", include_in_schema=False, dependencies=[ADMINISTERS])
def revoke(
    request: Request,
    viewer: TheViewer,
    sent: Annotated[dict[str, str], Depends(Fields(frozenset({"name", "reason"})))],
) -> RedirectResponse:
    """End a key and its sessions. 400 without a reason, or for a name no key has."""
    reason = " ".join(sent["reason"].split())
    if not reason:
        raise RefusedError(400, "Say why the key is revoked.", parameter="reason")
    gate: Gate = request.app.state.gate
    with _refusing_names():
        gate.keys.revoke(sent["name"], viewer.name or HERE, reason)
    return RedirectResponse("/admin", 303)


@contextmanager
def _refusing_names() -> Iterator[None]:
    """What keys say of a name becomes RefusedError 400."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        raise RefusedError(400, f"{said[:1].upper()}{said[1:]}.", parameter="name") from error
