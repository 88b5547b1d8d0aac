"""Admin page: access keys and their use, creating and revoking keys, and the log of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from fonds.access.keys import NAME_MAX_CHARS, REASON_MAX_CHARS, AccessKeySummary, NewKey
from fonds.model.access import Role
from fonds.model.encoding import pluralize
from fonds.model.rows import ActRow
from fonds.web.access.gate import AccessGate
from fonds.web.access.roles import ADMINISTERS
from fonds.web.access.viewers import ActorName
from fonds.web.actions import Action, FormResult, FormRoute, InvalidParameterError, add_actions
from fonds.web.html.rendering import capitalize, render_page

ACTS_MAX = 200

router = APIRouter(tags=["access"], dependencies=[ADMINISTERS])


@dataclass(frozen=True, slots=True)
class AdminPage:
    """Content of the admin page: all access keys sorted by name, and the newest 200 recorded
    changes.
    """

    keys: Sequence[AccessKeySummary]
    acts: Sequence[ActRow]


def load_admin(gate: AccessGate) -> AdminPage:
    """Load all access keys and the newest 200 recorded changes, for the admin page."""
    keys = [gate.keys.summarize(row) for row in gate.keys.list_all()]
    return AdminPage(keys, gate.action_log.list_newest(ACTS_MAX))


@router.get("/admin", include_in_schema=False)
def admin_html(request: Request) -> HTMLResponse:
    """Show the access keys and the log of changes."""
    admin = load_admin(request.app.state.gate)
    good = sum(key.state == "valid" for key in admin.keys)
    return render_page(
        request,
        "admin.html",
        heading=f"{pluralize(good, 'active key')}" if admin.keys else "No access keys",
        page=admin,
        shown_max=ACTS_MAX,
        reason_max=REASON_MAX_CHARS,
        roles=list(Role),
        name_max=NAME_MAX_CHARS,
    )


@router.get("/admin.json", include_in_schema=False)
@router.get("/api/admin", summary="Access keys and change log", operation_id="get_access_keys")
def admin_json(request: Request) -> AdminPage:
    """Return all keys with role, last use and expiry, and the newest 200 changes. For admins."""
    return load_admin(request.app.state.gate)


class KeyIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that creates an access key: the name and role of the key, and the day at whose start
    (UTC) it expires.
    """

    name: str
    role: Role
    until: date | None = None


class RevokeIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that revokes an access key: the name of the key, and the reason for revoking it."""

    name: str
    reason: str


def create_key(request: Request, actor: ActorName, sent: KeyIn) -> NewKey:
    """Create an access key. 400 for an invalid or used name, and for a last day in the past."""
    gate: AccessGate = request.app.state.gate
    until = datetime.combine(sent.until, time.min, UTC) if sent.until else None
    with _refuse_invalid_names():
        return gate.keys.create(sent.name.strip(), sent.role, actor, until)


def revoke_key(request: Request, actor: ActorName, sent: RevokeIn) -> None:
    """Revoke an access key and end its sessions. 400 for a missing reason, and for an
    unknown name.
    """
    reason = " ".join(sent.reason.split())
    if not reason:
        raise InvalidParameterError("Give a reason for revoking the key.", "reason")
    gate: AccessGate = request.app.state.gate
    with _refuse_invalid_names():
        gate.keys.revoke(sent.name, actor, reason)


@contextmanager
def _refuse_invalid_names() -> Iterator[None]:
    """Context manager that turns a ValueError about an access key into an InvalidParameterError."""
    try:
        yield
    except ValueError as error:
        raise InvalidParameterError(f"{capitalize(str(error))}.", "name") from error


def _show_key(result: FormResult[KeyIn, NewKey]) -> Response:
    """Show the secret of a new access key. The secret is shown only here, and no cache keeps the
    page.
    """
    new_key = result.answer
    page = render_page(
        result.request,
        "key_made.html",
        heading=f"Key of {new_key.row.name} ({new_key.row.role})",
        secret=new_key.secret,
        until=new_key.row.until,
    )
    page.headers["Cache-Control"] = "no-store"
    return page


add_actions(
    router,
    Action("create a key", Role.ADMIN, create_key, KeyIn, FormRoute("/admin/keys", _show_key)),
    Action(
        "revoke a key",
        Role.ADMIN,
        revoke_key,
        RevokeIn,
        FormRoute("/admin/revoke", lambda result: "/admin"),
    ),
)
