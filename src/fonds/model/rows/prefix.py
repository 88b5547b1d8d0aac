"""A condition on text: whatever begins so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefix:
    """Stands where a value would: texts that begin with `text`, letter case counting; all for ""."""

    text: str
