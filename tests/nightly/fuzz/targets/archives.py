"""WARC and ARC framing: each scan ends, and each result of a scan is found again by its offset.

The first byte selects the compression of the rest: none, one gzip member, one zstd frame, or members of
any compression; `CUT` separates these members.
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
from nightly.fuzz.guarantees import require

BODY_MAX_BYTES = 1_000_000
HEADS_READ_MAX = 8
CUT = b"CUT"

COMPRESSIONS: Sequence[Callable[[bytes], bytes]] = (
    lambda data: data,
    lambda data: gzip.compress(data, 1, mtime=0),
    lambda data: zstandard.compress(data, 1),
    lambda data: warcs.gzip_records(data.split(CUT)),
    lambda data: warcs.zstd_records(data.split(CUT)),
    *(
        lambda data, name=name: warcs.pack_records(data.split(CUT), name)  # type: ignore[misc]
        for name in warcs.PACKERS
    ),
)


def check(data: bytes) -> None:
    """Scan, resume the scan in the middle, and read by offset."""
    if not data:
        return
    packed = COMPRESSIONS[data[0] % len(COMPRESSIONS)](data[1:])
    kind = detect_container(packed)
    require(kind is None or isinstance(kind, Container), "a container is None or a Container", kind)
    heads = list(read_heads(io.BytesIO(packed)))
    require(len(heads) <= 2 * len(data) + 2, "no more heads than bytes", len(heads))
    offsets = [head.offset for head in heads]
    require(len(set(offsets)) == len(offsets), "every head has a different offset", offsets)
    middle = len(heads) // 2
    if heads:
        # Later heads may differ, because a wrong length can end within a member.
        rest = [head.offset for head in read_heads(io.BytesIO(packed), offsets[middle])]
        require(rest[:1] == offsets[middle:][:1], "a scan resumes at any head", (heads, rest))
    checked_records = list(check_records(io.BytesIO(packed), body_max_bytes=BODY_MAX_BYTES))
    require(
        len(checked_records) <= 2 * len(data) + 2,
        "no more records are checked than bytes exist",
        checked_records,
    )
    for head in heads[:HEADS_READ_MAX]:
        _check_head(packed, head)


def _check_head(packed: bytes, head: RecordHead | Damage) -> None:
    with suppress(PermanentError):
        record_bytes = b"".join(iter_record_bytes(io.BytesIO(packed), head.offset))
        require(bool(record_bytes), "a complete record has a header", head)
    try:
        payload = read_record(io.BytesIO(packed), head.offset, body_max_bytes=BODY_MAX_BYTES)
    except PermanentError as fault:
        require(bool(fault.detail), "a fault has a description")
        return
    require(len(payload.body) <= BODY_MAX_BYTES, "a body keeps its limit", len(payload.body))
    if isinstance(head, Damage):
        require(bool(head.detail), "a damage has a description", head)


def seeds() -> Iterator[bytes]:
    """Yield records of every kind in every compression, and some damage."""
    records = [
        warcs.warcinfo(),
        warcs.http_response(),
        warcs.revisit(),
        warcs.warc_record(b"body", date="2024"),
        warcs.coded_response(warcs.encode_body(warcs.PAGE, "gzip"), "gzip"),
        warcs.coded_response(
            warcs.encode_body(warcs.PAGE, "chunked"), "chunked", header="Transfer-Encoding"
        ),
        warcs.http_response(length=7),
        warcs.http_response(length=99_999),
        warcs.http_response(version="WARC/0.18", newline=b"\n"),
    ]
    arcs = [warcs.arc_header(), warcs.arc_record(), warcs.arc_record(length=3)]
    arcs2 = [warcs.arc_header(2), warcs.arc_record(version=2)]
    for number in range(len(COMPRESSIONS)):
        for parts in (records, records[:2], arcs, arcs2, [b"junk", *records[3:5]]):
            yield bytes([number]) + CUT.join(parts)
    for packed in (warcs.gzip_records(records), warcs.zstd_records(records[:3])):
        yield b"\0" + packed
        yield b"\0" + warcs.flip_byte(packed, len(packed) // 2)
        yield b"\0" + packed[:-9]
    dictionary = warcs.train_dictionary()
    yield b"\0" + warcs.zstd_records(records[:2], dictionary=dictionary)
