"""Web applications over a home with one access key per role, and clients for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from filled_home import open_home
from fonds.access.keys import AccessKeys
from fonds.config import load_settings
from fonds.model.access import Role
from fonds.ports import Stores
from fonds.web.access.gate import AccessGate, create_gate
from fonds.web.app import create_app
from fonds.web.replay import create_replay
from fonds.wiring.collections import create_service

ORIGIN = "http://localhost:8765"
OWN = {"sec-fetch-site": "same-origin"}


@dataclass(frozen=True)
class GuardedHome:
    """Both applications behind one gate, and the secrets of the keys by role."""

    stores: Stores
    gate: AccessGate
    pages: Any
    replay: Any
    secrets: Mapping[Role, str]

    def client(self, app: Any = None, origin: str = ORIGIN) -> TestClient:
        """Create a client without cookies that does not follow redirects."""
        return TestClient(app or self.pages, base_url=origin, follow_redirects=False)

    def sign_in(self, role: Role, origin: str = ORIGIN) -> TestClient:
        """Create a client that has signed in with the key of a role."""
        client = self.client(origin=origin)
        answer = client.post("/sign-in", data={"key": self.secrets[role]}, headers=OWN)
        assert answer.status_code == 303, answer.text
        return client


@contextmanager
def open_guarded_home(
    folder: Path, *, host: str = "127.0.0.1", reading: bool = False, are_made: bool = True
) -> Iterator[GuardedHome]:
    """Open a home with keys.

    `reading` makes reading require a key; `are_made` is whether the keys exist.
    """
    with open_home(folder) as stores:
        settings = load_settings(folder, {"web.reading_needs_key": str(reading).lower()})
        gate = create_gate(stores.records, host, settings)
        keys = AccessKeys(stores.records, gate.keys.clock)
        secrets = {
            role: keys.create(str(role), role, "local:me").secret for role in Role if are_made
        }
        service = create_service(stores)
        service.runs.close()
        pages = create_app(stores, host=host, settings=settings, gate=gate, service=service)
        replay = create_replay(stores, host=host, gate=gate)
        yield GuardedHome(stores, gate, pages, replay, secrets)


def bearer(secret: str) -> dict[str, str]:
    """Return the authorization header for a key."""
    return {"Authorization": f"Bearer {secret}"}
