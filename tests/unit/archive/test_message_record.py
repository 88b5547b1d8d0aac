"""Messages as WARC records: every message is read back unchanged, and damage raises."""

from __future__ import annotations

import gzip
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from fonds.archive.warc.messages import MessageWriter, read_messages
from fonds.model.errors import DamagedInputError
from fonds.model.message import Message

MESSAGE = Message("id-1", b"\x00\xff body", "ab" * 20, 3, {"reason": "zu groß"})


def _write_messages(*messages: Message, address: str = "read-quar") -> bytes:
    out = BytesIO()
    writer = MessageWriter(out)
    for message in messages:
        writer.write(address, message)
    return out.getvalue()


@given(
    st.builds(
        Message,
        id=st.text(min_size=1, max_size=40),
        body=st.binary(max_size=200),
        key=st.text(max_size=40),
        attempt=st.integers(0, 1000),
        headers=st.dictionaries(st.text(max_size=10), st.text(max_size=20), max_size=4),
    )
)
def test_any_message_is_read_back_unchanged(message: Message) -> None:
    assert list(read_messages(BytesIO(_write_messages(message)))) == [("read-quar", message)]


def test_a_dump_is_a_warc_file_that_warcio_reads() -> None:
    info, record = list(ArchiveIterator(BytesIO(_write_messages(MESSAGE)), check_digests="raise"))
    assert info.rec_type == "warcinfo"
    assert record.rec_type == "resource"
    assert record.rec_headers.get_header("WARC-Target-URI") == "urn:fonds:message:read-quar:id-1"


def test_other_records_are_skipped() -> None:
    other_record = (
        b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: urn:x\r\n"
        b"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        b"WARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
    )
    data = gzip.compress(other_record) + _write_messages(MESSAGE)
    assert [message for _, message in read_messages(BytesIO(data))] == [MESSAGE]


@pytest.mark.parametrize("damage", ["no warc", "cut body", "bad field"])
def test_damage_raises(damage: str) -> None:
    warc = gzip.decompress(_write_messages(MESSAGE))
    data = {
        "no warc": b"%PDF-1.4 and so on",
        "cut body": warc[: warc.index(b"body") + 1],
        "bad field": warc.replace(b'Fonds-Headers: {"', b"Fonds-Headers: {{{"),
    }[damage]
    with pytest.raises(DamagedInputError):
        list(read_messages(BytesIO(data)))
