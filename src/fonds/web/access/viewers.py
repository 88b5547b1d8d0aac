"""Sender of a request: the user of an access key or session, this computer's user, or an anonymous
reader.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from fonds.model.access import Role, Viewer
from fonds.model.errors import FondsError
from fonds.model.rows import ActRow

ANONYMOUS_READER = Viewer("", Role.READER)
"""User who may read and nothing else."""
OWNER = Viewer("", Role.ADMIN)
"""User of this computer while no access key exists. Has full access."""
REQUESTER_KEY = "fonds.requester"
LOCAL_NAME = "this machine"
"""Name recorded for the changes of this computer's user while no access key exists."""


@dataclass(slots=True)
class Requester:
    """Sender of a request, and what the sender may do.

    `viewer`: the user and the user's role. None if reading needs an access key and the request has
        no valid one.
    `is_by_session`: whether the browser authenticated with its session cookie.
    `has_wrong_key`: whether the request has an access key that is unknown, revoked or expired.
    `wait_s`: seconds until keys from this client address are checked again; 0 if they are checked
        now.
    `has_keys`: whether this server has any access key.
    `is_local`: whether the request comes from this computer.
    `error`: error of a store that prevented the check of the key; None without such an error.
    `act`: entry in the log of changes for this request; None if no change was begun.
    """

    viewer: Viewer | None
    is_by_session: bool = False
    has_wrong_key: bool = False
    wait_s: int = 0
    has_keys: bool = False
    is_local: bool = False
    error: FondsError | None = None
    act: ActRow | None = None

    @property
    def is_signed_in(self) -> bool:
        """Whether the sender has a name: that of the valid access key or session of the request."""
        return self.viewer is not None and bool(self.viewer.name)

    def has_role(self, role: Role) -> bool:
        """Return whether the sender has `role` or a role with more rights."""
        return self.viewer is not None and self.viewer.has_role(role)


def get_requester(scope: MutableMapping[str, Any]) -> Requester:
    """Return the sender of a request, as the access gate identified the sender.

    If no gate did so, return a sender without any rights.
    """
    requester: Requester | None = scope.get(REQUESTER_KEY)
    return requester or Requester(None)


async def get_viewer(request: Request) -> Viewer:
    """Return the user who sent a request; without a known user, an anonymous reader.

    Requests whose sender may not read were refused before.
    """
    return get_requester(request.scope).viewer or ANONYMOUS_READER


def describe_act(request: Request, description: str) -> None:
    """Add a description to the log entry of the change that a request makes, e.g. a file's SHA-1.

    Do nothing if the request has no log entry.
    """
    act = get_requester(request.scope).act
    if act is not None:
        request.app.state.gate.action_log.describe(act, description)


TheViewer = Annotated[Viewer, Depends(get_viewer)]


async def _get_actor_name(viewer: TheViewer) -> str:
    return viewer.name or LOCAL_NAME


ActorName = Annotated[str, Depends(_get_actor_name)]
"""Name of the user under which a change is recorded: that of the access key, or `this machine`."""
