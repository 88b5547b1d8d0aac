"""Who a request comes from: a key, a session that a key began, whoever sits at this machine, or anybody."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from fonds.model.access import Role, Viewer
from fonds.model.errors import FondsError
from fonds.model.rows import ActRow

ANONYMOUS_READER = Viewer("", Role.READER)
"""Who may read and nothing else."""
OWNER = Viewer("", Role.ADMIN)
"""Whoever sits at this machine, where nobody made a key: everything is theirs anyway."""
ASKER = "fonds.asker"
LOCAL_NAME = "this machine"
"""The owner's name in what they changed."""


@dataclass(slots=True)
class Requester:
    """What is known of who asks. `viewer` is None where reading needs a key and none was shown.

    `is_by_session`: a browser sent it along by itself. `is_wrong`: what was shown is no key; `wait_s`:
    how long no key of this address is looked at. `has_keys`: whether there is any. `is_local`: whether
    the request comes from this machine. `trouble`: the store that could not say. `act` is the note of
    what they change."""

    viewer: Viewer | None
    is_by_session: bool = False
    is_wrong: bool = False
    wait_s: int = 0
    has_keys: bool = False
    is_local: bool = False
    trouble: FondsError | None = None
    act: ActRow | None = None

    @property
    def is_signed_in(self) -> bool:
        """Whether a key was shown that is good."""
        return self.viewer is not None and bool(self.viewer.name)

    def has_role(self, role: Role) -> bool:
        """Whether they may do what needs at least the role `role`."""
        return self.viewer is not None and self.viewer.has_role(role)


def get_requester(scope: MutableMapping[str, Any]) -> Requester:
    """Who asks; nobody who may anything where no gate was passed."""
    found: Requester | None = scope.get(ASKER)
    return found or Requester(None)


async def get_viewer(request: Request) -> Viewer:
    """Who asks, and what they may do: one that may read, for all else was refused before."""
    return get_requester(request.scope).viewer or ANONYMOUS_READER


def describe_act(request: Request, description: str) -> None:
    """Note what is about to be changed more exactly than its address says it, as by a file's SHA-1."""
    act = get_requester(request.scope).act
    if act is not None:
        request.app.state.gate.acts.describe(act, description)


TheViewer = Annotated[Viewer, Depends(get_viewer)]


async def _get_actor_name(viewer: TheViewer) -> str:
    return viewer.name or LOCAL_NAME


ActorName = Annotated[str, Depends(_get_actor_name)]
"""The name that a change is recorded under."""
