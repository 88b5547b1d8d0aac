"""Record the order of writes to the stores; what a row refers to must be written before the row."""

from __future__ import annotations

from typing import Any

WRITES = frozenset({"put", "write", "delete", "change", "change_each", "settle", "enter"})


class RecordingStore:
    """A store that appends its writes to a shared list, as `name.method`."""

    def __init__(self, name: str, real: Any, calls: list[str]) -> None:
        self._name, self._real, self._calls = name, real, calls

    def __getattr__(self, method: str) -> Any:
        attribute = getattr(self._real, method)
        if method not in WRITES:
            return attribute

        def record_call(*args: Any, **kwargs: Any) -> Any:
            self._calls.append(f"{self._name}.{method}")
            return attribute(*args, **kwargs)

        return record_call


def record_writes(calls: list[str], **stores: Any) -> dict[str, Any]:
    """Wrap each store so that its writes are recorded."""
    return {name: RecordingStore(name, real, calls) for name, real in stores.items()}
