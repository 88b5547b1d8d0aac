"""Blob store that keeps one folder of keys in a second store, such as thumbnails in a public
bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fonds.model.archive import Blob
from fonds.ports import Blobs
from fonds.ports.stores import close, purge

ItemT = TypeVar("ItemT")


class SplitBlobs:
    """Blob store that divides the blobs between two other blob stores by key.

    Keys that begin with `folder/` are kept in `separate`, all others in `main`. Implements the
    interface Blobs (`ports/stores.py`).
    """

    def __init__(self, main: Blobs, separate: Blobs, folder: str) -> None:
        self._main = main
        self._separate = separate
        self._prefix = f"{folder}/"

    def put(self, blobs: Sequence[Blob]) -> None:
        """Write each blob to the main or the separate store, whichever its key belongs to."""
        for store, group in self._group_by_store(blobs, lambda blob: blob.key):
            store.put(group)

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a blob, or None if the key does not exist."""
        return self._choose_store(key).get(key)

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Return those of the blob keys `keys` that exist."""
        return {
            key
            for store, group in self._group_by_store(keys, str)
            for key in store.filter_existing(group)
        }

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each blob in `keys` that exists, by key."""
        sizes: dict[str, int] = {}
        for store, group in self._group_by_store(keys, str):
            sizes |= store.get_sizes(group)
        return sizes

    def delete(self, keys: Sequence[str]) -> None:
        """Delete blobs; absent keys are ignored."""
        for store, group in self._group_by_store(keys, str):
            store.delete(group)

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted blobs from both stores. Return what can remain."""
        return purge(self._main, self._separate)

    def close(self) -> None:
        """Close the main and the separate blob store."""
        close(self._main, self._separate)

    def _choose_store(self, key: str) -> Blobs:
        return self._separate if key.startswith(self._prefix) else self._main

    def _group_by_store(
        self, items: Sequence[ItemT], get_key: Callable[[ItemT], str]
    ) -> list[tuple[Blobs, list[ItemT]]]:
        """Group items by the blob store in which their key belongs: the main or the separate store.

        A store without items is left out.
        """
        separate = [item for item in items if get_key(item).startswith(self._prefix)]
        main = [item for item in items if not get_key(item).startswith(self._prefix)]
        return [
            (store, group)
            for store, group in ((self._main, main), (self._separate, separate))
            if group
        ]
