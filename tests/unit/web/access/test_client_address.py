"""The address of a client behind proxies, for which wrong keys are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.access.keys import AccessKeys
from fonds.access.sign_in_throttle import PER_ADDRESS_MAX
from fonds.config import load_settings
from fonds.model.access import Role
from fonds.model.errors import ConfigurationError
from fonds.web.access.gate import create_gate, parse_networks
from fonds.web.app import create_app
from guarded_home import bearer

PROXY = "10.0.0.7"


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "address"),
    [
        ("192.0.2.9", "203.0.113.5", "192.0.2.9"),
        (PROXY, "203.0.113.5", "203.0.113.5"),
        (PROXY, "198.51.100.1, 203.0.113.5", "203.0.113.5"),
        (PROXY, "203.0.113.5, 10.0.0.8", "203.0.113.5"),
        (PROXY, "", PROXY),
        (PROXY, "unknown", PROXY),
        (PROXY, "203.0.113.5, unknown", PROXY),
        (PROXY, "10.0.0.8", "10.0.0.8"),
        ("2001:db8::1", "203.0.113.5", "203.0.113.5"),
        ("testclient", "203.0.113.5", "testclient"),
    ],
)
def test_only_trusted_proxies_name_the_client(
    tmp_path: Path, peer: str, forwarded_for: str, address: str
) -> None:
    with open_home(tmp_path) as stores:
        values = {"web.trusted_proxies": "10.0.0.0/8 2001:db8::1"}
        gate = create_gate(stores.records, "0.0.0.0", load_settings(tmp_path, values))
        scope = {
            "type": "http",
            "client": (peer, 1),
            "headers": [(b"x-forwarded-for", forwarded_for.encode())],
        }
        assert gate.get_client_address(scope) == address


def test_wrong_keys_behind_a_proxy_lock_out_only_their_sender(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        settings = load_settings(tmp_path, {"web.trusted_proxies": PROXY})
        gate = create_gate(stores.records, "127.0.0.1", settings)
        secret = AccessKeys(stores.records, gate.keys.clock).create("a", Role.CURATOR, "me").secret
        app = create_app(stores, host="127.0.0.1", settings=settings, gate=gate)
        client = TestClient(app, base_url="http://localhost", client=(PROXY, 1))

        def ask(key: str, address: str) -> int:
            headers = {**bearer(key), "X-Forwarded-For": f"198.51.100.1, {address}"}
            return client.get("/embargoes", headers=headers).status_code

        for _ in range(PER_ADDRESS_MAX):
            assert ask("wrong", "203.0.113.5") == 401
        assert ask(secret, "203.0.113.5") == 429
        assert ask(secret, "203.0.113.6") == 200


@pytest.mark.parametrize("text", ["10.0.0.1/8", "proxy.example", "10.0.0.0/99"])
def test_a_wrong_network_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="trusted_proxies"):
        parse_networks(text)
