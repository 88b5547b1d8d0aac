"""How many processes ask an IP address: rows, so that together they keep its pace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from fonds.model.rows import AddressUseRow
from fonds.ports import Records

LEASE_S = 60.0
"""Who has not said for so long that it asks an address does so no more."""
AT_ONCE = 200


class AddressShares:
    """Each process that asks an address says so before it does, and keeps a share of the pace: one of two
    leaves twice the gap. Those that were there before know it a third of a minute later. For one thread.
    """

    def __init__(
        self,
        records: Records,
        who: str,
        clock: Callable[[], datetime],
        is_gone: Callable[[str], bool] = lambda who: False,
    ) -> None:
        self._records = records
        self._who = who
        self._clock = clock
        self._is_gone = is_gone
        self._used: dict[str, float] = {}
        self._due_s = 0.0

    def join(self, addresses: Iterable[str], now_s: float) -> dict[str, int]:
        """These are asked from now on; for those that were not before, by how many processes."""
        found = set(addresses)
        fresh = found - self._used.keys()
        told = self._write(fresh) if fresh else {}
        for address in found:
            self._used[address] = now_s
        return told

    def renew(self, now_s: float) -> dict[str, int]:
        """Say again, now and then, what is asked; by how many processes each is. What was not asked
        for a while is this one's no more."""
        if now_s < self._due_s:
            return {}
        self._due_s = now_s + LEASE_S / 3
        gone = [address for address, used_s in self._used.items() if now_s - used_s > LEASE_S]
        told = self._write(self._used.keys() - gone)
        self._leave(gone)
        return told

    def leave_all(self) -> None:
        """Nothing is asked any more."""
        self._leave(list(self._used))

    def _write(self, addresses: Collection[str]) -> dict[str, int]:
        now, told = self._clock(), dict.fromkeys(addresses, 1)
        self._records.put([AddressUseRow(address, self._who, now) for address in addresses])
        ordered = sorted(addresses)
        for start in range(0, len(ordered), AT_ONCE):
            where = {"address": ordered[start : start + AT_ONCE]}
            for row in self._records.find(AddressUseRow, where):
                told[row.address] += self._is_others(row, now)
        return told

    def _is_others(self, row: AddressUseRow, now: datetime) -> bool:
        is_fresh = now - row.updated < timedelta(seconds=LEASE_S)
        return row.used_by != self._who and is_fresh and not self._is_gone(row.used_by)

    def _leave(self, addresses: Collection[str]) -> None:
        for address in addresses:
            del self._used[address]
        if addresses:
            self._records.delete(AddressUseRow, [(one, self._who) for one in addresses])
