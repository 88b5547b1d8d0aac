"""Inputs as sources find them: rows of which nothing was read yet."""

from __future__ import annotations

from datetime import datetime

from fonds.model.entry import UNREAD_FINGERPRINT, unread_input_id
from fonds.model.rows import InputRow


def failed_input(path: str, kind: str, updated: datetime, error: str) -> InputRow:
    """Return the input that stands for a path or URL that cannot be read, whatever was read of it before."""
    return unread_input(unread_input_id(path), path, kind, UNREAD_FINGERPRINT, updated, error)


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
