"""Blobs of one folder of keys in a store of their own, as thumbnails in a public bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fonds.model.blob import Blob
from fonds.ports import Blobs
from fonds.ports.closing import close

ItemT = TypeVar("ItemT")


class SplitBlobs:
    """Implements the port Blobs over two stores: keys that begin with `folder/` lie in `apart`."""

    def __init__(self, others: Blobs, apart: Blobs, folder: str) -> None:
        self._others = others
        self._apart = apart
        self._prefix = f"{folder}/"

    def put(self, blobs: Sequence[Blob]) -> None:
        """As the port says."""
        for store, some in self._by_store(blobs, lambda blob: blob.key):
            store.put(some)

    def get(self, key: str) -> bytes | None:
        """As the port says."""
        return self._store(key).get(key)

    def exists(self, keys: Sequence[str]) -> set[str]:
        """As the port says."""
        return {key for store, some in self._by_store(keys, str) for key in store.exists(some)}

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """As the port says."""
        found: dict[str, int] = {}
        for store, some in self._by_store(keys, str):
            found |= store.sizes(some)
        return found

    def delete(self, keys: Sequence[str]) -> None:
        """As the port says."""
        for store, some in self._by_store(keys, str):
            store.delete(some)

    def close(self) -> None:
        """Close both stores."""
        close(self._others, self._apart)

    def _store(self, key: str) -> Blobs:
        return self._apart if key.startswith(self._prefix) else self._others

    def _by_store(
        self, items: Sequence[ItemT], key_of: Callable[[ItemT], str]
    ) -> list[tuple[Blobs, list[ItemT]]]:
        """The items of each store that has any."""
        apart = [one for one in items if key_of(one).startswith(self._prefix)]
        others = [one for one in items if not key_of(one).startswith(self._prefix)]
        return [
            (store, some) for store, some in ((self._others, others), (self._apart, apart)) if some
        ]
