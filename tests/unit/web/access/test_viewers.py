"""The viewer of a request, and its role."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from fonds.model.access import Role, Viewer
from fonds.web.access.viewers import (
    ANONYMOUS_READER,
    OWNER,
    REQUESTER_KEY,
    Requester,
    get_requester,
    get_viewer,
)


def test_a_request_without_a_requester_has_no_role() -> None:
    anne = Viewer("anne", Role.CURATOR)
    assert (
        asyncio.run(get_viewer(Request({"type": "http", REQUESTER_KEY: Requester(anne)}))) == anne
    )
    assert not get_requester({}).has_role(Role.READER)
    assert asyncio.run(get_viewer(Request({"type": "http"}))) == ANONYMOUS_READER


def test_only_viewers_with_a_key_are_signed_in() -> None:
    assert Requester(Viewer("anne", Role.READER)).is_signed_in
    assert not any(Requester(viewer).is_signed_in for viewer in (OWNER, ANONYMOUS_READER, None))
