"""Inputs as sources find them: their ids, and rows of which nothing was read yet."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha1

from fonds.model.rows import InputRow


def input_id_of(name: bytes, fingerprint: str) -> str:
    """The id of what is called so and looks so: 16 hex digits."""
    digest = sha1(name + b"\x00" + fingerprint.encode())  # noqa: S324 (a key, not a seal)
    return digest.hexdigest()[:16]


def unread_input(
    input_id: str,
    path: str,
    kind: str,
    fingerprint: str,
    updated: datetime,
    error: str | None = None,
) -> InputRow:
    """An input before anything was read out of it; `error` says why nothing will be."""
    return InputRow(
        input_id=input_id,
        path=path,
        kind=kind,
        fingerprint=fingerprint,
        position=0,
        entries=0,
        tally={},
        tally_count=0,
        finished=False,
        error=error,
        updated=updated,
    )
