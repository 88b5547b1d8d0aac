"""The job that writes where documents are in a new clustering: the rows of members, assignments and scores.

A part is a run of places as MessagePack, packed; its record is the part's number in ten digits, a space, and
base64 of the same. Whoever writes a range may do it again: the rows are the same.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

from fonds.bulk.grouping.reading import OpenTables
from fonds.collections.building.new_rows import Placed, batches, put_batch
from fonds.collections.changing.placement import Placement
from fonds.collections.clusterings import Known
from fonds.model.prepared import prepared
from fonds.ports import Job
from fonds.ports.closing import close

PART_PLACES = 10_000
RANGES = 16
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class WritePlaces:
    """The `write` of the job; its one result is how many places were written."""

    open_tables: OpenTables
    one: Known

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Write the places of some parts."""
        tables, count = self.open_tables(), 0
        try:
            for record in records:
                places = _unpacked(b64decode(record.partition(b" ")[2]))
                for batch in batches(iter(places)):
                    put_batch(tables, self.one, batch)
                count += len(places)
        finally:
            close(tables.store)
        yield b"%d" % count


def placing_job(
    open_tables: OpenTables, one: Known, placed: Iterator[Placed], fingerprint: str
) -> Job:
    """Writes all these places; `fingerprint` is new each time."""
    parts: list[tuple[int, bytes]] = []
    while some := list(islice(placed, PART_PLACES)):
        told = [(id_, at.conf, at.label, at.score, at.original) for id_, at in some]
        parts.append((len(parts), zlib.compress(msgspec.msgpack.encode(told), _LEVEL)))
    step = max(1, -(-len(parts) // RANGES))
    return Job(
        name=f"group-{fingerprint}",
        parts=tuple(parts),
        read=record_of,
        ranges=tuple(b"%010d" % number for number in range(step, len(parts), step)),
        write=WritePlaces(open_tables, one),
    )


def record_of(part: tuple[int, bytes]) -> Iterator[bytes]:
    """The one record of a part."""
    number, packed = part
    yield b"%010d " % number + b64encode(packed)


def _unpacked(packed: bytes) -> list[Placed]:
    """Places this process or another of the same job packed."""
    told = msgspec.msgpack.decode(
        zlib.decompress(packed), type=prepared(list[tuple[str, str, str, bytes, str]])
    )
    return [
        (id_, Placement(conf, label, score, original)) for id_, conf, label, score, original in told
    ]
