"""What the service tells, for its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Group = Callable[[], int]


def detail(answer: Any, status: int) -> dict[str, Any]:
    """The problem an answer tells of, which has this status."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    assert told["status"] == status
    assert told["type"] == "about:blank"
    return told
