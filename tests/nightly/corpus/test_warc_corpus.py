"""Real WARC and ARC files of many programs are read, and agree with other readers."""

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

# Invalid records of the other reader: an ARC line without a usable length, which it reads as length 0,
# and negative offsets.
NO_RECORDS = {
    "bad.arc": {0, 134, 262},
    "corrupted-mid-record.warc.gz.open": {-7009},
    "corrupted-trailing-bytes.warc.gz.open": {-19402},
}
# Keys in the indexes that differ from those of the Wayback Machine: `metadata://` URLs, on which both
# indexes disagree.
OTHER_KEYS = ("metadata)/",)

pytestmark = [
    pytest.mark.skipif(not WARCS.is_dir(), reason=f"the corpus is not there: {WARCS}"),
]


def list_files() -> list[Path]:
    files = (path for path in sorted(WARCS.rglob("*")) if path.is_file())
    return [path for path in files if path.suffix not in NOT_WARCS]


def get_name(path: Path) -> str:
    return str(path.relative_to(WARCS))


def read_file_heads(path: Path) -> list[RecordHead | Damage]:
    with path.open("rb") as stream:
        return list(read_heads(stream))


def iter_gold() -> Iterator[tuple[Path, dict[str, Any]]]:
    with (CORPUS / "gold" / "warc.jsonl").open() as lines:
        for row in map(json.loads, lines):
            yield CORPUS / row["path"], row


@pytest.mark.parametrize("path", list_files(), ids=get_name)
def test_every_record_of_a_file_is_read_or_refused(path: Path) -> None:
    heads = read_file_heads(path)
    assert len({head.offset for head in heads}) == len(heads)
    with path.open("rb") as stream:
        for head in heads:
            if isinstance(head, Damage) or head.is_truncated:
                with pytest.raises(PermanentError, match=f"at offset {head.offset}"):
                    read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)
            else:
                payload = read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)
                assert payload.size_bytes == head.size_bytes


def test_all_records_of_other_readers_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    rows, missing = [], {}
    for path, row in iter_gold():
        heads = read_file_heads(path)
        offsets = {head.offset for head in heads if isinstance(head, RecordHead)}
        expected = {record["offset"] for record in row["records"]} - NO_RECORDS.get(
            path.name, set()
        )
        if not expected <= offsets:
            missing[path.name] = expected - offsets
        counts = (
            len(row["records"]),
            row["fastwarc"]["records"],
            len(offsets),
            len(heads) - len(offsets),
        )
        if len(set(counts[:3])) > 1 or counts[3]:
            rows.append((path.name, *counts))
    with capsys.disabled():
        print("\nfiles on which readers differ (warcio, FastWARC, Fonds, damages):")
        for line in rows:
            print("  {:60} {!s:>5} {!s:>5} {:>5} {:>5}".format(*line))
    assert missing == {}


def test_record_lengths_agree_with_warcio_for_separate_members() -> None:
    compared = 0
    for path, row in iter_gold():
        heads = {
            scanned.offset: scanned
            for scanned in read_file_heads(path)
            if isinstance(scanned, RecordHead)
        }
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
                continue  # At the end of a file, readers count the line end after its header or not.
            if path.name == "example-space-in-url.arc":
                continue
            assert record["length_on_disk"] - head.size_bytes in (0, 1), (path, record["offset"])
            compared += 1
    assert compared > 700


def iter_bodies_of_warcio(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Yield offset, type and decoded body of records that warcio reads, until its first error."""
    with path.open("rb") as stream, contextlib.redirect_stderr(io.StringIO()):
        reader = ArchiveIterator(stream)
        with contextlib.suppress(ArchiveLoadFailed):
            for record in reader:
                body = record.content_stream().read()
                yield reader.get_record_offset(), record.rec_type, body


def test_bodies_equal_those_of_warcio(capsys: pytest.CaptureFixture[str]) -> None:
    equal_count, different = 0, []
    for path in list_files():
        with path.open("rb") as stream:
            truncated = {
                head.offset for head in read_file_heads(path) if getattr(head, "is_truncated", True)
            }
            for offset, kind, body in iter_bodies_of_warcio(path):
                if (
                    kind in ("request", "arc_header", "revisit")
                    or offset < 0
                    or offset in truncated
                ):
                    continue  # warcio removes heads of requests and ARC headers.
                our_body = read_record(stream, offset, body_max_bytes=BODY_MAX_BYTES).body
                equal_count += our_body == body
                if our_body != body:
                    different.append((path.name, offset, len(body), len(our_body)))
    with capsys.disabled():
        print(f"\nbodies equal to those of warcio: {equal_count}, different: {different}")
    # An HTTP body of one blank line; warcio then fails on this file.
    assert {name for name, *_ in different} <= {"bad.arc", "example-wrong-chunks.warc.gz"}
    assert equal_count > 400


def test_declared_digests_match_stored_bodies() -> None:
    right, wrong = 0, []
    for path in list_files():
        with path.open("rb") as stream:
            for head in read_file_heads(path):
                if not isinstance(head, RecordHead) or head.is_truncated or head.digest is None:
                    continue
                payload = read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)
                # The digest of a request covers only its body, that of an encoded body its encoded bytes.
                if head.type in ("request", "revisit") or len(payload.body) != head.payload_bytes:
                    continue
                if encode_sha1_base32(hashlib.sha1(payload.body).digest()) == head.digest:
                    right += 1
                else:
                    wrong.append(path.name)
    # Bodies that were decoded after hashing, and an empty response.
    assert set(wrong) == {"clueweb-quirk.warc.gz", "missing-http.warc.gz"}
    assert right > 300


def test_bodies_are_equal_after_rewriting() -> None:
    out = io.BytesIO()
    writer = RecordWriter(out)
    writer.write_warcinfo("all.warc.gz", datetime(2024, 3, 5, tzinfo=UTC))
    originals: list[Payload] = []
    for path in list_files():
        with path.open("rb") as stream:
            for head in read_file_heads(path):
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
    rewritten_heads = [head for head in read_heads(out) if isinstance(head, RecordHead)][1:]
    assert len(rewritten_heads) == len(originals) > 300
    for head, original in zip(rewritten_heads, originals, strict=True):
        payload = read_record(out, head.offset, body_max_bytes=BODY_MAX_BYTES)
        assert payload.body == original.body
        if original.http and payload.http and original.http.status_line.startswith("HTTP"):
            assert payload.http.status == original.http.status
            assert payload.http.status_line == original.http.status_line
            assert payload.http.get("content-type") == original.http.get("content-type")


def iter_cdx_lines() -> Iterator[CdxLine]:
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


def test_keys_agree_with_real_indexes(capsys: pytest.CaptureFixture[str]) -> None:
    # Handwritten lines use the host mit.edu for any URL; their keys belong to other URLs.
    pairs = {(line.surt, line.url) for line in iter_cdx_lines() if "//mit.edu/" not in line.url}
    different = {(key, build_surt(url), url) for key, url in pairs if build_surt(url) != key}
    unexpected = {row for row in different if not row[0].startswith(OTHER_KEYS)}
    with capsys.disabled():
        print(f"\nkeys: {len(pairs) - len(different)} of {len(pairs)} agree; {different}")
    assert len(pairs) > 30
    assert unexpected == set()
