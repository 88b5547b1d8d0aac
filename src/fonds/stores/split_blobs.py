"""Blobs of one folder of keys in a store of their own, as thumbnails in a public bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fonds.model.archive import Blob
from fonds.ports import Blobs
from fonds.ports.stores import close

ItemT = TypeVar("ItemT")


class SplitBlobs:
    """Implements the port Blobs over two stores: keys that begin with `folder/` lie in `apart`."""

    def __init__(self, main: Blobs, separate: Blobs, folder: str) -> None:
        self._main = main
        self._separate = separate
        self._prefix = f"{folder}/"

    def put(self, blobs: Sequence[Blob]) -> None:
        """As the port says."""
        for store, some in self._group_by_store(blobs, lambda blob: blob.key):
            store.put(some)

    def get(self, key: str) -> bytes | None:
        """As the port says."""
        return self._choose_store(key).get(key)

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """As the port says."""
        return {
            key
            for store, some in self._group_by_store(keys, str)
            for key in store.filter_existing(some)
        }

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """As the port says."""
        found: dict[str, int] = {}
        for store, some in self._group_by_store(keys, str):
            found |= store.get_sizes(some)
        return found

    def delete(self, keys: Sequence[str]) -> None:
        """As the port says."""
        for store, some in self._group_by_store(keys, str):
            store.delete(some)

    def close(self) -> None:
        """Close both stores."""
        close(self._main, self._separate)

    def _choose_store(self, key: str) -> Blobs:
        return self._separate if key.startswith(self._prefix) else self._main

    def _group_by_store(
        self, items: Sequence[ItemT], get_key: Callable[[ItemT], str]
    ) -> list[tuple[Blobs, list[ItemT]]]:
        """The items of each store that has any."""
        apart = [one for one in items if get_key(one).startswith(self._prefix)]
        others = [one for one in items if not get_key(one).startswith(self._prefix)]
        return [
            (store, some) for store, some in ((self._main, others), (self._separate, apart)) if some
        ]
