"""Who a request comes from."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request

from fonds.model.access import Role
from fonds.web.access.security import only_here
from fonds.web.access.viewers import viewer_of


@pytest.mark.parametrize(("host", "role"), [("127.0.0.1", Role.ADMIN), ("0.0.0.0", Role.READER)])
def test_whoever_sits_at_this_machine_may_do_all_and_whoever_reaches_it_may_read(
    host: str, role: Role
) -> None:
    app = Starlette()
    app.state.acts_here = only_here(host)

    assert viewer_of(Request({"type": "http", "app": app})).role is role
