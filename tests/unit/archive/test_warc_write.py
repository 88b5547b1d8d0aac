"""Records as we write them: valid for other readers, and equal when read back."""

from __future__ import annotations

import gzip
import hashlib
import io
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from fixtures.archives import build_metadata
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.archive.warc.writer import METADATA_TYPE, RecordWriter
from fonds.model.archive import ArchiveEntry, OriginalCapture, Payload
from fonds.model.exchange import HttpHead
from fonds.model.keys import encode_sha1_base32

AT = datetime(2024, 3, 5, 6, 7, 8, 123456, UTC)
FIRST = OriginalCapture("http://example.org/first", AT)
UUID = "00000000-0000-4000-8000-00000000000a"
BODY = b"<html><body>caf\xc3\xa9</body></html>"
HTTP = HttpHead(
    200,
    "HTTP/1.1 200 OK",
    (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
        ("content-length", "17"),
        ("X-Name", "café"),
    ),
)


def make_entry(**changes: object) -> ArchiveEntry:
    values: dict[str, object] = {
        "capture_id": "1",
        "url": "http://example.org/a",
        "captured_at": AT,
        "mime": "text/html",
        "body": BODY,
        "http": HTTP,
        **changes,
    }
    return ArchiveEntry(**values)  # type: ignore[arg-type]


def write(*entries: ArchiveEntry, version: str = "WARC/1.1") -> tuple[bytes, list[int]]:
    """Return a file with a warcinfo record and the entries, and the lengths of their first
    records."""
    out = io.BytesIO()
    writer = RecordWriter(out, version=version)
    writer.write_warcinfo("a.warc.gz", AT, "host.example")
    sizes = [writer.write_entry(archive_entry).size_bytes for archive_entry in entries]
    return out.getvalue(), sizes


def list_heads(data: bytes) -> list[RecordHead]:
    things = list(read_heads(io.BytesIO(data)))
    assert all(isinstance(thing, RecordHead) for thing in things)
    return [thing for thing in things if isinstance(thing, RecordHead)]


def read(data: bytes, number: int) -> Payload:
    return read_record(io.BytesIO(data), list_heads(data)[number].offset, body_max_bytes=10_000_000)


def check_with_warcio(data: bytes, folder: Path) -> str:
    """Return the messages of `warcio check` on a file."""
    path = folder / "checked.warc.gz"
    path.write_bytes(data)
    output = io.StringIO()
    with redirect_stdout(output):
        checker = Checker(SimpleNamespace(inputs=[str(path)], verbose=True))
        assert checker.process_all() == 0, output.getvalue()
    return output.getvalue()


@pytest.mark.parametrize("version", ["WARC/1.0", "WARC/1.1"])
def test_warcio_verifies_every_digest(version: str, tmp_path: Path) -> None:
    data, _ = write(
        make_entry(metadata_json=build_metadata()),
        make_entry(http=None, mime="application/pdf", url="file:///a%20b.pdf"),
        make_entry(original=FIRST),
        make_entry(original=FIRST, http=None, metadata_json=build_metadata()),
        make_entry(body=b""),
        make_entry(http=None, body=b""),
        version=version,
    )
    messages = check_with_warcio(data, tmp_path)
    assert messages.count("digest pass") == 7
    assert messages.count("not checked (revisit)") == 2


def test_each_record_is_one_gzip_member_of_the_returned_length() -> None:
    data, sizes = write(make_entry(), make_entry(body=bytes(200_000)), make_entry(http=None))
    record_heads = list_heads(data)
    assert [head.size_bytes for head in record_heads[1:]] == sizes
    assert sum(head.size_bytes or 0 for head in record_heads) == len(data)


def test_a_file_begins_with_its_writer() -> None:
    data, _ = write()
    payload = read(data, 0)
    assert payload.body.startswith(b"software: Fonds/")
    assert b"hostname: host.example\r\n" in payload.body
    assert b"conformsTo: https://iipc.github.io/warc-specifications/" in payload.body
    assert payload.warc_headers["WARC-Filename"] == "a.warc.gz"


def test_a_response_keeps_its_status_line_and_headers() -> None:
    data, _ = write(make_entry(http=HttpHead(203, "HTTP/1.0 203 Nearly", HTTP.headers)))
    payload = read(data, 1)
    assert payload.body == BODY
    assert payload.http is not None
    assert payload.http.status_line == "HTTP/1.0 203 Nearly"
    assert payload.http.headers == (
        ("Content-Type", "text/html; charset=utf-8"),
        ("X-Archive-Orig-Content-Encoding", "gzip"),
        ("X-Archive-Orig-Transfer-Encoding", "chunked"),
        ("X-Archive-Orig-content-length", "17"),
        ("X-Name", "café"),
        ("Content-Length", str(len(BODY))),
    )


@pytest.mark.parametrize(
    ("status", "status_line", "written_line"),
    [
        (404, "", "HTTP/1.1 404"),
        (0, "", "HTTP/1.1 000"),
        (0, "HTTP/1.1 OK", "HTTP/1.1 OK"),
        (200, "200 OK", "HTTP/1.1 200"),
    ],
)
def test_a_status_line_is_built_only_if_missing_or_invalid(
    status: int, status_line: str, written_line: str
) -> None:
    data, _ = write(make_entry(http=HttpHead(status, status_line)))
    http = read(data, 1).http
    assert http is not None
    assert (http.status, http.status_line) == (status, written_line)


def test_a_body_without_http_head_is_a_resource() -> None:
    data, _ = write(make_entry(http=None, mime="application/pdf", url="file:///a.pdf"))
    head = list_heads(data)[1]
    assert (head.type, head.mime, head.url) == ("resource", "application/pdf", "file:///a.pdf")
    assert read(data, 1).body == BODY


def test_metadata_follows_its_record_and_refers_to_it() -> None:
    data, _ = write(make_entry(metadata_json=build_metadata(1)))
    response, metadata = read(data, 1), read(data, 2)
    assert metadata.body == build_metadata(1)
    assert metadata.warc_headers["Content-Type"] == METADATA_TYPE
    assert metadata.warc_headers["WARC-Refers-To"] == response.warc_headers["WARC-Record-ID"]
    for name in ("WARC-Date", "WARC-Warcinfo-ID"):
        assert metadata.warc_headers[name] == response.warc_headers[name]
    assert metadata.warc_headers["WARC-Target-URI"] == "urn:metadata:http://example.org/a"


@pytest.mark.parametrize(
    ("line", "written_line", "protocol"),
    [
        ("HTTP/1.0 200 OK", "HTTP/1.0 200 OK", None),
        ("http/1.1 200 OK", "HTTP/1.1 200 OK", None),
        ("HTTP/2 200", "HTTP/1.1 200", "h2"),
        ("HTTP/3 200", "HTTP/1.1 200", "h3"),
        ("ICY 200 OK", "HTTP/1.1 200 OK", "icy"),
    ],
)
def test_a_head_is_written_as_http_1_with_the_protocol_in_a_field(
    line: str, written_line: str, protocol: str | None
) -> None:
    payload = read(write(make_entry(http=HttpHead(200, line)))[0], 1)
    assert payload.http is not None
    assert payload.http.status_line == written_line
    assert payload.warc_headers.get("WARC-Protocol") == protocol


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_repeated_body_is_a_revisit_of_the_first(version: str) -> None:
    first_at = datetime(2023, 1, 2, 3, 4, 5, 678, UTC)
    repeat = make_entry(original=replace(FIRST, captured_at=first_at))
    data, _ = write(repeat, version=f"WARC/{version}")
    payload = read(data, 1)
    assert payload.body == b""
    assert payload.http is not None
    fields = payload.warc_headers
    assert fields["WARC-Type"] == "revisit"
    assert fields["WARC-Profile"].endswith(f"warc/{version}/revisit/identical-payload-digest")
    assert fields["WARC-Refers-To-Target-URI"] == "http://example.org/first"
    fraction = ".000678" if version == "1.1" else ""
    assert fields["WARC-Refers-To-Date"] == f"2023-01-02T03:04:05{fraction}Z"
    assert fields["WARC-Payload-Digest"] == "sha1:" + encode_sha1_base32(
        hashlib.sha1(BODY).digest()
    )


@pytest.mark.parametrize("template", ["{}", "<{}>"])
def test_a_revisit_refers_to_a_known_record_id(template: str) -> None:
    out = io.BytesIO()
    writer = RecordWriter(out)
    first = writer.write_entry(make_entry())
    original = replace(FIRST, record_id=template.format(first.record_id))
    second = writer.write_entry(make_entry(original=original, metadata_json=build_metadata()))
    response, revisit, metadata = (read(out.getvalue(), n).warc_headers for n in range(3))
    assert response["WARC-Record-ID"] == f"<{first.record_id}>" == revisit["WARC-Refers-To"]
    assert revisit["WARC-Record-ID"] == f"<{second.record_id}>" == metadata["WARC-Refers-To"]
    assert len({first.record_id, second.record_id}) == 2


@given(
    record_id=st.text(max_size=60)
    | st.sampled_from(
        (
            f"<urn:uuid:{UUID}>\r\nWARC-Type: response",
            f"urn:uuid:{UUID}\n",
            f" urn:uuid:{UUID}",
            f"urn:uuid:{UUID}> <urn:uuid:{UUID}",
            f"URN:UUID:{UUID}",
            f"urn:uuid:{UUID}0",
            "urn:uuid:",
            "http://example.org/" + UUID,
        )
    )
)
def test_an_invalid_record_id_is_not_written(record_id: str) -> None:
    data, _ = write(make_entry(original=replace(FIRST, record_id=record_id)))
    assert "WARC-Refers-To" not in read(data, 1).warc_headers
    assert b"\nWARC-Refers-To:" not in gzip.decompress(data)
    assert [head.type for head in list_heads(data)] == ["warcinfo", "revisit"]


def test_dates_are_in_utc_with_microseconds_in_version_1_1() -> None:
    local = make_entry(captured_at=AT.astimezone(timezone(timedelta(hours=5))))
    assert list_heads(write(local)[0])[1].captured_at == AT
    old_head = list_heads(write(local, version="WARC/1.0")[0])[1]
    assert old_head.captured_at == AT.replace(microsecond=0)


def test_an_unknown_version_raises() -> None:
    with pytest.raises(ValueError, match="WARC/2"):
        RecordWriter(io.BytesIO(), version="WARC/2.0")


def test_header_injection_is_prevented() -> None:
    injection = "x\r\nWARC-Type: response\r\n\r\nbody"
    data, _ = write(
        make_entry(
            url="http://example.org/" + injection,
            mime=injection,
            http=HttpHead(
                200, "HTTP/1.1 200 " + injection, (("A" + injection, injection), ("B", "\ud800"))
            ),
        ),
        make_entry(
            mime=injection,
            http=None,
            original=OriginalCapture("http://x/" + injection, AT, injection),
        ),
    )
    assert [head.type for head in list_heads(data)] == ["warcinfo", "response", "revisit"]
    payload = read(data, 1)
    assert payload.body == BODY
    assert payload.http is not None
    assert len(payload.http.headers) == 3


texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=20)
names = st.text("abcXYZ-0123", min_size=1, max_size=12).filter(
    lambda name: name.lower() not in ("content-length",)
)


@given(
    body=st.binary(max_size=300),
    headers=st.lists(st.tuples(names, texts), max_size=6),
    reason=texts,
    status=st.integers(200, 599),
    captured_at=st.integers(820_454_400_000_000, 4_102_444_800_000_000).map(
        lambda micros: datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    ),
)
@settings(deadline=None)
def test_a_written_record_is_read_back_equal(
    body: bytes, headers: list[tuple[str, str]], reason: str, status: int, captured_at: datetime
) -> None:
    line = f"HTTP/1.1 {status} {reason}".strip()
    archive_entry = make_entry(
        body=body, http=HttpHead(status, line, headers), captured_at=captured_at
    )
    data, _ = write(archive_entry)
    head, payload = list_heads(data)[1], read(data, 1)
    assert payload.http is not None
    assert (payload.body, payload.http.status) == (body, status)
    assert payload.http.status_line.split() == line.split()
    assert payload.http.headers == (*headers, ("Content-Length", str(len(body))))
    assert (head.captured_at, head.url) == (captured_at, archive_entry.url)
    assert head.digest == encode_sha1_base32(hashlib.sha1(body).digest())


def test_warcio_reads_every_record() -> None:
    data, _ = write(make_entry(metadata_json=build_metadata()), make_entry(http=None))
    types = [record.rec_type for record in ArchiveIterator(io.BytesIO(data))]
    assert types == ["warcinfo", "response", "metadata", "resource"]


def test_warcinfo_names_the_user_agent_and_robots_policy() -> None:
    out = io.BytesIO()
    RecordWriter(out, agent="Fonds/1 (+me)").write_warcinfo("a.warc.gz", AT)
    fields = read(out.getvalue(), 0).body
    assert b"robots: obey\r\nhttp-header-user-agent: Fonds/1 (+me)\r\n" in fields
    assert b"robots" not in read(write()[0], 0).body
