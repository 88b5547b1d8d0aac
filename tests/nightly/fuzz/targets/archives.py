"""WARC and ARC framing: whatever the bytes, a scan ends, and what it finds is found again by its place.

The first byte says how the rest is packed: as it is, in one gzip member or zstd frame, or in members of any
packing that are cut where the rest says `CUT`.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import zstandard

from fixtures import warcs
from fonds.archive.warc.reader import iter_record_bytes, read_record
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.archive.warc.validator import check_records
from fonds.ingest.sources.container import Container, detect_container
from fonds.model.errors import PermanentError
from nightly.fuzz.guarantees import holds

BODY_MAX_BYTES = 1_000_000
PLACES_READ_MAX = 8
CUT = b"CUT"

PACKINGS: Sequence[Callable[[bytes], bytes]] = (
    lambda data: data,
    lambda data: gzip.compress(data, 1, mtime=0),
    lambda data: zstandard.compress(data, 1),
    lambda data: warcs.gzipped(data.split(CUT)),
    lambda data: warcs.zstandarded(data.split(CUT)),
    *(
        lambda data, name=name: warcs.packed(data.split(CUT), name)  # type: ignore[misc]
        for name in warcs.PACKERS
    ),
)


def check(data: bytes) -> None:
    """Scan, scan on from the middle, read by place."""
    if not data:
        return
    packed = PACKINGS[data[0] % len(PACKINGS)](data[1:])
    kind = detect_container(packed)
    holds(kind is None or isinstance(kind, Container), "a container is one of a list", kind)
    things = list(read_heads(io.BytesIO(packed)))
    holds(len(things) <= 2 * len(data) + 2, "no more things than bytes", len(things))
    offsets = [thing.offset for thing in things]
    holds(len(set(offsets)) == len(offsets), "every thing has a place of its own", offsets)
    middle = len(things) // 2
    if things:
        # What follows may be cut otherwise where a wrong length reached into the middle of a member.
        rest = [thing.offset for thing in read_heads(io.BytesIO(packed), offsets[middle])]
        holds(rest[:1] == offsets[middle:][:1], "a scan goes on from any thing", (things, rest))
    checked = list(check_records(io.BytesIO(packed), body_max_bytes=BODY_MAX_BYTES))
    holds(len(checked) <= 2 * len(data) + 2, "no more is checked than there are bytes", checked)
    for thing in things[:PLACES_READ_MAX]:
        _check_thing(packed, thing)


def _check_thing(packed: bytes, thing: RecordHead | Damage) -> None:
    with suppress(PermanentError):
        whole = b"".join(iter_record_bytes(io.BytesIO(packed), thing.offset))
        holds(bool(whole), "a whole record has a header", thing)
    try:
        payload = read_record(io.BytesIO(packed), thing.offset, body_max_bytes=BODY_MAX_BYTES)
    except PermanentError as fault:
        holds(bool(fault.detail), "a fault is told in words")
        return
    holds(len(payload.body) <= BODY_MAX_BYTES, "a body is within its limit", len(payload.body))
    if isinstance(thing, Damage):
        holds(bool(thing.detail), "a damage is told in words", thing)


def seeds() -> Iterator[bytes]:
    """Records of every sort in every packing, and some damage."""
    records = [
        warcs.warcinfo(),
        warcs.http_response(),
        warcs.revisit(),
        warcs.warc_record(b"body", date="2024"),
        warcs.coded_response(warcs.coded(warcs.PAGE, "gzip"), "gzip"),
        warcs.coded_response(
            warcs.coded(warcs.PAGE, "chunked"), "chunked", header="Transfer-Encoding"
        ),
        warcs.http_response(length=7),
        warcs.http_response(length=99_999),
        warcs.http_response(version="WARC/0.18", newline=b"\n"),
    ]
    arcs = [warcs.arc_header(), warcs.arc_record(), warcs.arc_record(length=3)]
    arcs2 = [warcs.arc_header(2), warcs.arc_record(version=2)]
    for number in range(len(PACKINGS)):
        for made in (records, records[:2], arcs, arcs2, [b"junk", *records[3:5]]):
            yield bytes([number]) + CUT.join(made)
    for packed in (warcs.gzipped(records), warcs.zstandarded(records[:3])):
        yield b"\0" + packed
        yield b"\0" + warcs.flipped(packed, len(packed) // 2)
        yield b"\0" + packed[:-9]
    dictionary = warcs.train_dictionary()
    yield b"\0" + warcs.zstandarded(records[:2], dictionary=dictionary)
