"""Who a request comes from, and that no route forgets to say what it needs."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from fonds.model.access import Role, Viewer
from fonds.web.access.viewers import ANYBODY, ASKER, OWNER, Asker, asker_of, viewer_of


def test_behind_the_gate_the_viewer_is_known_and_without_one_may_nothing() -> None:
    anne = Viewer("anne", Role.CURATOR)
    assert asyncio.run(viewer_of(Request({"type": "http", ASKER: Asker(anne)}))) == anne
    assert not asker_of({}).may(Role.READER)
    assert asyncio.run(viewer_of(Request({"type": "http"}))) == ANYBODY


def test_only_whoever_has_a_key_is_signed_in() -> None:
    assert Asker(Viewer("anne", Role.READER)).is_signed_in
    assert not any(Asker(viewer).is_signed_in for viewer in (OWNER, ANYBODY, None))
