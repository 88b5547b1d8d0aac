"""Real WARC and ARC files of many makers: all are read, and agree with what other programs read."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from fonds.archive.cdx import CdxLine, IndexReader
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.archive.warc.writer import RecordWriter
from fonds.model.archive import ArchiveEntry, Payload
from fonds.model.errors import PermanentError
from fonds.model.keys import encode_sha1_base32
from fonds.urls.surt import build_surt

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
WARCS = CORPUS / "warc"
BODY_MAX_BYTES = 100_000_000
NOT_WARCS = (".json", ".jsonl", ".cdx", ".jpg", ".svg", ".txt")

# What the second opinion calls a record and is none: an ARC line without a usable length, taken for
# one of length 0, and offsets below zero.
NO_RECORDS = {
    "bad.arc": {0, 134, 262},
    "corrupted-mid-record.warc.gz.open": {-7009},
    "corrupted-trailing-bytes.warc.gz.open": {-19402},
}
# Keys in the indexes that are not made the way of the Wayback Machine: `metadata://` URLs, where the
# makers of the two indexes disagree with each other.
OTHER_KEYS = ("metadata)/",)

pytestmark = [
    pytest.mark.skipif(not WARCS.is_dir(), reason=f"the corpus is not there: {WARCS}"),
]


def files() -> list[Path]:
    found = (path for path in sorted(WARCS.rglob("*")) if path.is_file())
    return [path for path in found if path.suffix not in NOT_WARCS]


def name_of(path: Path) -> str:
    return str(path.relative_to(WARCS))


def scan(path: Path) -> list[RecordHead | Damage]:
    with path.open("rb") as stream:
        return list(read_heads(stream))


def gold() -> Iterator[tuple[Path, dict[str, Any]]]:
    with (CORPUS / "gold" / "warc.jsonl").open() as lines:
        for row in map(json.loads, lines):
            yield CORPUS / row["path"], row


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_every_file_is_scanned_and_every_record_read_or_refused(path: Path) -> None:
    things = scan(path)
    assert len({thing.offset for thing in things}) == len(things)
    with path.open("rb") as stream:
        for thing in things:
            if isinstance(thing, Damage) or thing.is_truncated:
                with pytest.raises(PermanentError, match=f"at offset {thing.offset}"):
                    read_record(stream, thing.offset, body_max_bytes=BODY_MAX_BYTES)
            else:
                payload = read_record(stream, thing.offset, body_max_bytes=BODY_MAX_BYTES)
                assert payload.size_bytes == thing.size_bytes


def test_every_record_another_program_found_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    rows, missing = [], {}
    for path, row in gold():
        things = scan(path)
        found = {thing.offset for thing in things if isinstance(thing, RecordHead)}
        expected = {record["offset"] for record in row["records"]} - NO_RECORDS.get(
            path.name, set()
        )
        if not expected <= found:
            missing[path.name] = expected - found
        counts = (
            len(row["records"]),
            row["fastwarc"]["records"],
            len(found),
            len(things) - len(found),
        )
        if len(set(counts[:3])) > 1 or counts[3]:
            rows.append((path.name, *counts))
    with capsys.disabled():
        print("\nfiles on which readers differ (warcio, FastWARC, Fonds, damages):")
        for line in rows:
            print("  {:60} {!s:>5} {!s:>5} {:>5} {:>5}".format(*line))
    assert missing == {}


def test_lengths_on_disk_agree_wherever_a_record_has_its_own_member() -> None:
    compared = 0
    for path, row in gold():
        heads = {thing.offset: thing for thing in scan(path) if isinstance(thing, RecordHead)}
        for record in row["records"]:
            head = heads.get(record["offset"])
            if (
                row["warcio"]["error"]
                or head is None
                or head.size_bytes is None
                or head.is_truncated
            ):
                continue
            if head.type == "warcinfo" and record["type"] == "arc_header":
                continue  # A file that ends in its own header counts the line end behind it or not.
            if path.name == "example-space-in-url.arc":
                continue
            assert record["length_on_disk"] - head.size_bytes in (0, 1), (path, record["offset"])
            compared += 1
    assert compared > 700


def bodies_of(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Offset, type and decoded body of what the library reads, as far as it gets."""
    with path.open("rb") as stream, contextlib.redirect_stderr(io.StringIO()):
        reader = ArchiveIterator(stream)
        with contextlib.suppress(ArchiveLoadFailed):
            for record in reader:
                body = record.content_stream().read()
                yield reader.get_record_offset(), record.rec_type, body


def test_bodies_are_those_the_library_decodes(capsys: pytest.CaptureFixture[str]) -> None:
    same, different = 0, []
    for path in files():
        with path.open("rb") as stream:
            truncated = {head.offset for head in scan(path) if getattr(head, "truncated", True)}
            for offset, kind, body in bodies_of(path):
                if (
                    kind in ("request", "arc_header", "revisit")
                    or offset < 0
                    or offset in truncated
                ):
                    continue  # The library cuts heads off requests and ARC headers.
                mine = read_record(stream, offset, body_max_bytes=BODY_MAX_BYTES).body
                same += mine == body
                if mine != body:
                    different.append((path.name, offset, len(body), len(mine)))
    with capsys.disabled():
        print(f"\nbodies equal to the library's: {same}, different: {different}")
    # An HTTP body of one blank line; and the library's own reading of this file fails after it.
    assert {name for name, *_ in different} <= {"bad.arc", "example-wrong-chunks.warc.gz"}
    assert same > 400


def test_declared_digests_fit_the_bodies_as_stored() -> None:
    right, wrong = 0, []
    for path in files():
        with path.open("rb") as stream:
            for head in scan(path):
                if not isinstance(head, RecordHead) or head.is_truncated or head.digest is None:
                    continue
                payload = read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)
                # The digest of a request is of its body alone, that of a coded body of its coded bytes.
                if head.type in ("request", "revisit") or len(payload.body) != head.payload_bytes:
                    continue
                if encode_sha1_base32(hashlib.sha1(payload.body).digest()) == head.digest:
                    right += 1
                else:
                    wrong.append(path.name)
    # Bodies its makers decoded after hashing them, and a response without anything in it.
    assert set(wrong) == {"clueweb-quirk.warc.gz", "missing-http.warc.gz"}
    assert right > 300


def test_bodies_written_anew_come_back_equal() -> None:
    out = io.BytesIO()
    writer = RecordWriter(out)
    writer.write_warcinfo("all.warc.gz", datetime(2024, 3, 5, tzinfo=UTC))
    originals: list[Payload] = []
    for path in files():
        with path.open("rb") as stream:
            for head in scan(path):
                if not isinstance(head, RecordHead) or head.is_truncated or head.type != "response":
                    continue
                payload = read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)
                originals.append(payload)
                writer.write_entry(
                    ArchiveEntry(
                        "1",
                        head.url,
                        head.captured_at,
                        head.mime or "unk",
                        payload.body,
                        payload.http,
                    )
                )
    again = [head for head in read_heads(out) if isinstance(head, RecordHead)][1:]
    assert len(again) == len(originals) > 300
    for head, original in zip(again, originals, strict=True):
        payload = read_record(out, head.offset, body_max_bytes=BODY_MAX_BYTES)
        assert payload.body == original.body
        if original.http and payload.http and original.http.status_line.startswith("HTTP"):
            assert payload.http.status == original.http.status
            assert payload.http.status_line == original.http.status_line
            assert payload.http.get("content-type") == original.http.get("content-type")


def cdx_lines() -> Iterator[CdxLine]:
    for path in sorted([*WARCS.rglob("*.cdx"), *(CORPUS / "papers").rglob("*.cdx")]):
        reader = IndexReader()
        for text in path.read_text(errors="replace").splitlines():
            parsed = reader.parse(text)
            if isinstance(parsed, CdxLine):
                yield parsed
    for path in sorted(WARCS.rglob("*.jsonl")):
        for row in map(json.loads, filter(None, path.read_text().splitlines())):
            text = row.get("response_text")
            for line in text.splitlines() if isinstance(text, str) else ():
                parsed = IndexReader().parse(line)
                if isinstance(parsed, CdxLine):
                    yield parsed


def test_keys_agree_with_those_of_real_indexes(capsys: pytest.CaptureFixture[str]) -> None:
    # The host mit.edu stands for any URL in lines made by hand, whose keys belong to other ones.
    pairs = {(line.surt, line.url) for line in cdx_lines() if "//mit.edu/" not in line.url}
    different = {(key, build_surt(url), url) for key, url in pairs if build_surt(url) != key}
    unexpected = {row for row in different if not row[0].startswith(OTHER_KEYS)}
    with capsys.disabled():
        print(f"\nkeys: {len(pairs) - len(different)} of {len(pairs)} agree; {different}")
    assert len(pairs) > 30
    assert unexpected == set()
