"""Who a request comes from."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from fonds.model.access import Role, Viewer

ANYBODY = Viewer("", Role.READER)
"""Who may read and nothing else."""
OWNER = Viewer("", Role.ADMIN)
"""Whoever sits at this machine, where nobody made a key: everything is theirs anyway."""


def viewer_of(request: Request) -> Viewer:
    """Who asks, and what they may do."""
    return OWNER if request.app.state.acts_here else ANYBODY


TheViewer = Annotated[Viewer, Depends(viewer_of)]
