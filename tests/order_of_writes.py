"""Notes in which order the stores are written to: what a row promises must be there before the row."""

from __future__ import annotations

from typing import Any

WRITES = frozenset({"put", "write", "delete", "change", "change_each", "settle", "enter"})


class Watched:
    """A store whose writes are noted in one list with those of others, as `name.method`."""

    def __init__(self, name: str, real: Any, calls: list[str]) -> None:
        self._name, self._real, self._calls = name, real, calls

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._real, method)
        if method not in WRITES:
            return found

        def called(*args: Any, **kwargs: Any) -> Any:
            self._calls.append(f"{self._name}.{method}")
            return found(*args, **kwargs)

        return called


def watched(calls: list[str], **stores: Any) -> dict[str, Any]:
    """Each store by its name, watched."""
    return {name: Watched(name, real, calls) for name, real in stores.items()}
