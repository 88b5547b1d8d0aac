"""Checks of responses of the REST service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Group = Callable[[], int]


def detail(answer: Any, status: int) -> dict[str, Any]:
    """Return the problem document of a response; its status must be `status`."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["type"] == "about:blank"
    return problem
