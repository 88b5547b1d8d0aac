"""The admin's page: keys and how they are used, made and revoked there; and what was changed by whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.access.keys import NAME_MAX_CHARS, REASON_MAX_CHARS
from fonds.model.access import Role
from fonds.model.encoding import pluralize
from fonds.model.rows import AccessKeyRow
from fonds.web.access.gate import AccessGate
from fonds.web.access.roles import ADMINISTERS
from fonds.web.access.viewers import LOCAL_NAME, TheViewer
from fonds.web.html.actions import FormFields, parse_day
from fonds.web.html.rendering import render_page
from fonds.web.serving.problems import RefusedError

ACTS_MAX = 200

router = APIRouter(dependencies=[ADMINISTERS])


@dataclass(frozen=True, slots=True)
class AccessKeyOut:
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
class ActOut:
    """What somebody changed; `outcome` is the HTTP status, None where it did not end."""

    at: datetime
    who: str
    what: str
    outcome: int | None


@dataclass(frozen=True, slots=True)
class AdminPage:
    """All keys by their names, and the newest 200 acts."""

    keys: Sequence[AccessKeyOut]
    acts: Sequence[ActOut]


def load_admin(gate: AccessGate) -> AdminPage:
    """Keys and acts."""
    acts = [
        ActOut(row.at, row.who, row.what, row.outcome) for row in gate.acts.list_newest(ACTS_MAX)
    ]
    return AdminPage([_build_key(gate, row) for row in gate.keys.list_all()], acts)


def _build_key(gate: AccessGate, row: AccessKeyRow) -> AccessKeyOut:
    state = "good" if gate.keys.is_good(row) else "revoked" if row.revoked else "ended"
    return AccessKeyOut(
        row.name, row.role, row.prefix, state, row.made_by, row.row_created, row.until, row.last_used,
        row.revoked, row.revoked_by, row.revoked_reason,
    )  # fmt: skip


@router.get("/admin", include_in_schema=False)
def admin_html(request: Request) -> HTMLResponse:
    """Who may do what, and what was done."""
    found = load_admin(request.app.state.gate)
    good = sum(one.state == "good" for one in found.keys)
    return render_page(
        request,
        "admin.html",
        heading=f"{pluralize(good, 'key')} may be used here" if found.keys else "Nobody made a key",
        found=found,
        shown_max=ACTS_MAX,
        reason_max=REASON_MAX_CHARS,
        roles=list(Role),
        name_max=NAME_MAX_CHARS,
    )


@router.get("/admin.json", include_in_schema=False)
@router.get("/api/admin", summary="Keys, and what was changed by whom")
def admin_json(request: Request) -> AdminPage:
    """All keys with role, last use and end; the newest 200 acts. For admins."""
    return load_admin(request.app.state.gate)


@router.post("/admin/keys", include_in_schema=False)
def make_key(
    request: Request,
    viewer: TheViewer,
    sent: Annotated[dict[str, str], Depends(FormFields(frozenset({"name", "role", "until"})))],
) -> HTMLResponse:
    """Make a key, and answer with the page that shows its secret, once: no cache keeps it. 400 for a name
    that is none or was given out, for no role, and for a day that is none or over."""
    gate: AccessGate = request.app.state.gate
    if sent["role"] not in set(Role):
        raise RefusedError(400, f"Choose a role: {', '.join(Role)}.", parameter="role")
    until = parse_day(sent["until"].strip(), "until")
    with _refuse_invalid_names():
        made = gate.keys.create(
            sent["name"].strip(), Role(sent["role"]), viewer.name or LOCAL_NAME, until
        )
    answer = render_page(
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
    sent: Annotated[dict[str, str], Depends(FormFields(frozenset({"name", "reason"})))],
) -> RedirectResponse:
    """End a key and its sessions. 400 without a reason, or for a name no key has."""
    reason = " ".join(sent["reason"].split())
    if not reason:
        raise RefusedError(400, "Say why the key is revoked.", parameter="reason")
    gate: AccessGate = request.app.state.gate
    with _refuse_invalid_names():
        gate.keys.revoke(sent["name"], viewer.name or LOCAL_NAME, reason)
    return RedirectResponse("/admin", 303)


@contextmanager
def _refuse_invalid_names() -> Iterator[None]:
    """What keys say of a name becomes RefusedError 400."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        raise RefusedError(400, f"{said[:1].upper()}{said[1:]}.", parameter="name") from error
