"""Sign-in with an access key, which starts a browser session, and sign-out.

Source: RFC 6265bis, sections 4.1.3 (cookie prefixes) and 5.6.7 (SameSite).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fonds.web.access.gate import SECRET_MAX_CHARS, AccessGate
from fonds.web.access.roles import CHALLENGE, OPEN
from fonds.web.access.viewers import get_requester
from fonds.web.actions import FormBody
from fonds.web.html.rendering import render_page

NEXT_MAX_CHARS = 2_000
FORM_MAX_BYTES = 8_192
HOUR_S = 3_600

router = APIRouter(include_in_schema=False, dependencies=[OPEN])


class SignInForm(msgspec.Struct, forbid_unknown_fields=True):
    """Form that signs a user in.

    `key`: secret of an access key.
    `next`: path of the page that the browser opens next.
    """

    key: str = ""
    next: str = ""


SIGN_IN_FORM = Depends(FormBody(SignInForm, FORM_MAX_BYTES))


@router.get("/sign-in")
def sign_in_html(
    request: Request,
    onward: Annotated[
        str,
        Query(alias="next", max_length=NEXT_MAX_CHARS, description="Page to open after signing in"),
    ] = "/",
) -> HTMLResponse:
    """Show the form for an access key."""
    return _render_page(request, onward)


@router.post("/sign-in")
def sign_in(request: Request, sent: Annotated[SignInForm, SIGN_IN_FORM]) -> Response:
    """Start a session for the key in place of the browser's previous one.

    Wrong keys count towards the limit of failed attempts.
    """
    gate: AccessGate = request.app.state.gate
    address, onward = gate.get_client_address(request.scope), restrict_to_local(sent.next)
    wait_s = gate.attempts.get_wait_s(address)
    if wait_s:
        message = f"Too many wrong keys from this address. Try again in {wait_s} seconds."
        return _render_page(request, onward, 429, message, {"Retry-After": str(wait_s)})
    key = gate.authenticate(sent.key.strip()[:SECRET_MAX_CHARS], address)
    if key is None:
        message = "This key is wrong, revoked or expired."
        return _render_page(request, onward, 401, message, {"WWW-Authenticate": CHALLENGE})
    gate.sessions.end(gate.get_cookie(request.headers))
    answer = RedirectResponse(onward, 303)
    cookie = gate.sessions.begin(key)
    answer.set_cookie(
        gate.get_cookie_name(request.headers),
        cookie,
        max_age=int(gate.sessions.duration.total_seconds()),
        secure=not gate.is_local(request.headers),
        httponly=True,
        samesite="strict",
    )
    return answer


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """End the browser's session and delete its cookie."""
    gate: AccessGate = request.app.state.gate
    gate.sessions.end(gate.get_cookie(request.headers))
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(
        gate.get_cookie_name(request.headers),
        secure=not gate.is_local(request.headers),
        httponly=True,
        samesite="strict",
    )
    return answer


def restrict_to_local(path: str) -> str:
    """Return `path` if it is a path on this server, otherwise "/"."""
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path[:NEXT_MAX_CHARS] if is_ours and path.isprintable() else "/"


def _render_page(
    request: Request,
    onward: str,
    status: int = 200,
    error: str = "",
    headers: dict[str, str] | None = None,
) -> HTMLResponse:
    gate: AccessGate = request.app.state.gate
    is_tls = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))
    answer = render_page(
        request,
        "sign_in.html",
        status,
        heading="Signed in" if get_requester(request.scope).is_signed_in else "Sign in with a key",
        error=error,
        next=restrict_to_local(onward),
        is_kept=is_tls or gate.is_local(request.headers),
        hours=max(1, int(gate.sessions.duration.total_seconds()) // HOUR_S),
        max_chars=SECRET_MAX_CHARS,
    )
    answer.headers.update(headers or {})
    return answer
