"""Who a request comes from, and that no route forgets to say what it needs."""

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


def test_behind_the_gate_the_viewer_is_known_and_without_one_may_nothing() -> None:
    anne = Viewer("anne", Role.CURATOR)
    assert (
        asyncio.run(get_viewer(Request({"type": "http", REQUESTER_KEY: Requester(anne)}))) == anne
    )
    assert not get_requester({}).has_role(Role.READER)
    assert asyncio.run(get_viewer(Request({"type": "http"}))) == ANONYMOUS_READER


def test_only_whoever_has_a_key_is_signed_in() -> None:
    assert Requester(Viewer("anne", Role.READER)).is_signed_in
    assert not any(Requester(viewer).is_signed_in for viewer in (OWNER, ANONYMOUS_READER, None))
