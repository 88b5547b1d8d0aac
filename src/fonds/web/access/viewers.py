"""Who a request comes from: a key, a session that a key began, whoever sits at this machine, or anybody."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from fonds.model.access import Role, Viewer
from fonds.model.errors import FondsError
from fonds.model.rows import ActRow

ANYBODY = Viewer("", Role.READER)
"""Who may read and nothing else."""
OWNER = Viewer("", Role.ADMIN)
"""Whoever sits at this machine, where nobody made a key: everything is theirs anyway."""
ASKER = "fonds.asker"
HERE = "this machine"
"""The owner's name in what they changed."""


@dataclass(slots=True)
class Asker:
    """What is known of who asks. `viewer` is None where reading needs a key and none was shown.

    `by_session`: a browser sent it along by itself. `is_wrong`: what was shown is no key; `wait_s`: how long
    no key of this address is looked at. `are_keys_made`: whether there is any. `is_here`: whether the request
    comes from this machine. `trouble`: the store that could not say. `act` is the note of what they change.
    """

    viewer: Viewer | None
    by_session: bool = False
    is_wrong: bool = False
    wait_s: int = 0
    are_keys_made: bool = False
    is_here: bool = False
    trouble: FondsError | None = None
    act: ActRow | None = None

    @property
    def is_signed_in(self) -> bool:
        """Whether a key was shown that is good."""
        return self.viewer is not None and bool(self.viewer.name)

    def may(self, least: Role) -> bool:
        """Whether they may do what needs at least the role `least`."""
        return self.viewer is not None and self.viewer.may(least)


def asker_of(scope: MutableMapping[str, Any]) -> Asker:
    """Who asks; nobody who may anything where no gate was passed."""
    found: Asker | None = scope.get(ASKER)
    return found or Asker(None)


async def viewer_of(request: Request) -> Viewer:
    """Who asks, and what they may do: one that may read, for all else was refused before."""
    return asker_of(request.scope).viewer or ANYBODY


def name_act(request: Request, told: str) -> None:
    """Note what is about to be changed more exactly than its address says it, as by a file's SHA-1."""
    act = asker_of(request.scope).act
    if act is not None:
        request.app.state.gate.acts.name(act, told)


TheViewer = Annotated[Viewer, Depends(viewer_of)]
