"""Message formats: payloads decode unchanged, and have the documented names and types."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.bibliography import Paper
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta, UnextractedPdf
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText, Thumbnail
from fonds.model.pdf_extra import OutlineEntry, PdfExtra
from fonds.model.task import Task
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.queues.messages.contracts import CONTRACTS, build_schemas
from fonds.queues.messages.envelope import build_foreign_entry, decode, encode
from fonds.queues.messages.work_objects import read_task
from foreign_work import FILE_META_FIELDS, SEED_FIELDS

SHA1, OTHER_SHA1 = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "ab" * 20
OUR_HEADERS = {PIPELINE: "library"}
SCHEMAS = build_schemas()

hexes = st.text("0123456789abcdef", min_size=40, max_size=40)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
optional_texts = st.none() | texts
moments = st.datetimes(
    datetime(1900, 1, 1),  # noqa: DTZ001
    datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
offsets = st.integers(0, 2**50)
digits14 = moments.map(lambda moment: f"{moment:%Y%m%d%H%M%S}")
names = texts.filter(bool)
places = st.one_of(
    st.builds(Place, st.just(PlaceKind.FILE), names),
    st.builds(Place, st.just(PlaceKind.WARC), names, offsets, st.none() | offsets),
    st.builds(Place, st.just(PlaceKind.ZIP), names, member=names),
    st.builds(
        Place,
        st.just(PlaceKind.REPLAY),
        st.builds(lambda digits, url: f"{digits}/{url}", digits14, names),
    ),
    st.builds(
        Place,
        st.just(PlaceKind.PETABOX),
        st.builds(lambda item, path: f"{item}/{path}", names.filter(lambda t: "/" not in t), names),
    ),
)
captures = st.builds(
    Capture,
    id=names,
    input_id=texts,
    place=places,
    url=names,
    captured_at=moments,
    record_type=st.sampled_from(["response", "file"]),
    collection=texts,
    mime=optional_texts,
    status=st.none() | st.integers(100, 599),
    digest=optional_texts,
)
files = st.builds(
    FileMeta,
    size=offsets,
    mime=names,
    magic=texts,
    magic_mime=texts,
    sha1=hexes,
    md5=st.text("0123456789abcdef", min_size=32, max_size=32),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
)
extras = st.builds(
    PdfExtra,
    word_count=st.none() | st.integers(0, 10**9),
    page_count=st.none() | st.integers(0, 2_000),
    permanent_id=optional_texts,
    page0_width=st.none() | st.floats(0, 1e6),
    outline=st.none()
    | st.lists(st.builds(OutlineEntry, offsets, texts, st.none() | offsets)).map(tuple),
    bibliography=st.none() | st.builds(Paper, grobid_version=texts, title=optional_texts),
)
results = st.builds(
    PdfText,
    sha1hex=hexes,
    status=st.sampled_from(PdfStatus),
    text=optional_texts,
    page0_thumbnail=st.booleans(),
    meta_xml=optional_texts,
    pdf_info=st.none() | st.dictionaries(texts, texts, max_size=3),
    pdf_extra=st.none() | extras,
    file_meta=files,
    source=captures,
    extractor=texts,
    error_msg=optional_texts,
)


def validate(name: str, body: bytes) -> Any:
    document = json.loads(body)
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(document)
    return document


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_is_valid_draft_2020_12(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert json.loads(json.dumps(SCHEMAS[name]))["$id"] == f"urn:fonds:schema:{name}"


def test_exactly_the_public_topics_have_contracts() -> None:
    topics = {
        topic
        for make in PIPELINES.values()
        for stage in make(("360px-webp",)).stages
        for topic in (stage.reads, *stage.writes)
    }
    assert {public.payload for public in topics if public.public} == set(CONTRACTS)
    assert {
        private.name for private in topics if not private.public and private.payload in CONTRACTS
    } == set()


@given(results)
def test_a_result_has_the_contract_names_and_decodes_unchanged(item: PdfText) -> None:
    body = encode(item)
    document = validate("pdf-text", body)
    for name, kind in SEED_FIELDS.items():
        assert isinstance(document[name], kind), name
    assert document["file_meta"].keys() >= FILE_META_FIELDS
    assert (document["key"], document["has_page0_thumbnail"]) == (
        item.sha1hex,
        item.page0_thumbnail,
    )
    validate("work-object", json.dumps(document["source"]).encode())
    assert decode(Message("m", body, item.sha1hex, headers=OUR_HEADERS), PdfText) == item


@given(captures, files, st.none() | moments)
def test_work_is_a_work_object_and_decodes_unchanged(
    capture: Capture, file: FileMeta, after: datetime | None
) -> None:
    item = UnextractedPdf(capture, file, after)
    body = encode(item)
    document = validate("unextracted", body)
    assert (document["sha1hex"], document["url"]) == (file.sha1, capture.url)
    assert decode(Message("m", body, file.sha1, headers=OUR_HEADERS), UnextractedPdf) == item


@given(captures, files)
def test_internal_work_without_our_header_is_read_as_a_task(
    capture: Capture, file: FileMeta
) -> None:
    """Without our header a message is read as a task, whatever fields it has."""
    if capture.place.kind is PlaceKind.ZIP:
        capture = replace(capture, place=Place(PlaceKind.FILE, capture.place.path))
    task = decode(Message("m", encode(UnextractedPdf(capture, file)), file.sha1), UnextractedPdf)
    assert isinstance(task, Task)
    assert (task.id, task.sha1hex, task.address) == ("m", file.sha1, capture.url)
    assert task.kind is capture.place.kind


def test_a_thumbnail_is_sent_as_bytes_and_requires_the_sha1_as_key() -> None:
    picture = Thumbnail(SHA1, "360px-webp", b"\xff\xd8")
    assert encode(picture) == b"\xff\xd8"
    assert decode(Message("m", b"\xff\xd8", SHA1), Thumbnail, "360px-webp") == picture
    for key, body in (("../../etc", b"x"), ("", b"x"), (SHA1, b"")):
        with pytest.raises(DamagedInputError, match="must be the SHA-1 of the PDF") as raised:
            decode(Message("m", body, key), Thumbnail)
        assert raised.value.reason is Reason.BAD_MESSAGE


@given(results)
def test_a_result_of_another_program_is_refused(item: PdfText) -> None:
    with pytest.raises(DamagedInputError, match="send work to") as raised:
        decode(Message("m", encode(item), item.sha1hex), PdfText)
    assert raised.value.reason is Reason.BAD_MESSAGE


@given(results)
def test_unknown_names_in_pdf_extra_are_ignored_and_invalid_values_are_refused(
    item: PdfText,
) -> None:
    def read_with(extra: Any) -> PdfText:
        document = json.loads(encode(item)) | {"pdf_extra": extra}
        body = json.dumps(document).encode()
        return decode(Message("m", body, item.sha1hex, headers=OUR_HEADERS), PdfText)

    assert read_with({"page_count": 3, "font_count": 4}).pdf_extra == PdfExtra(page_count=3)
    for extra in ({"page_count": "3"}, {"bibliography": {"authors": "x"}}):
        with pytest.raises(DamagedInputError, match="invalid pdf_extra") as raised:
            read_with(extra)
        assert raised.value.reason is Reason.BAD_MESSAGE


CDX = {"url": "http://e.org/a", "datetime": "20200102030405", "warc_path": "a/b.warc.gz"}


@pytest.mark.parametrize(
    ("fields_given", "key", "sha1hex"),
    [
        ({"sha1hex": SHA1}, "", SHA1),
        ({"sha1hex": "F7KODRT2FUUPZ3MET3Q3W5XHHENZH2YS"}, "", SHA1),
        ({"file_meta": {"sha1hex": SHA1, "size_bytes": None}}, "", SHA1),
        ({}, SHA1, SHA1),
        ({}, f"sha1:{SHA1}", SHA1),
        ({"sha1hex": None}, "http://e.org/a", None),
        ({"sha1hex": SHA1.upper()}, SHA1, SHA1),
    ],
)
def test_the_sha1_can_be_in_three_places(fields_given: Any, key: str, sha1hex: str | None) -> None:
    assert read_task(json.dumps(CDX | fields_given).encode(), key=key).sha1hex == sha1hex


@pytest.mark.parametrize(
    ("fields_given", "key"),
    [
        ({"sha1hex": SHA1}, OTHER_SHA1),
        ({"sha1hex": SHA1, "file_meta": {"sha1hex": OTHER_SHA1}}, ""),
    ],
)
def test_two_different_sha1s_are_refused(fields_given: Any, key: str) -> None:
    with pytest.raises(ValueError, match="more than one file"):
        read_task(json.dumps(CDX | fields_given).encode(), key=key)


def test_a_foreign_message_enters_as_the_task_in_its_body() -> None:
    foreign = Message("m1", json.dumps(CDX | {"warc_offset": 0}).encode(), SHA1)
    entry = build_foreign_entry(foreign, UnextractedPdf, "x.unextracted")
    assert entry is not None
    assert (entry.id, entry.url, entry.seen_datetime14) == (
        "m1",
        "http://e.org/a",
        "20200102030405",
    )
    assert entry.place == "a/b.warc.gz:0"
    broken = build_foreign_entry(Message("m2", b"x", "k"), UnextractedPdf, "x.unextracted")
    assert broken is not None
    assert (broken.url, broken.place) == ("x.unextracted k", None)
    marked = Message("m3", foreign.body, headers=OUR_HEADERS)
    assert build_foreign_entry(marked, UnextractedPdf, "x.unextracted") is not None
    assert (
        build_foreign_entry(Message("m4", b"{}", headers=OUR_HEADERS), PdfText, "x.pdf-text")
        is None
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
)
fields = ("sha1hex", "url", "datetime", "warc_path", "warc_offset", "item", "path", "file_meta")


@given(st.binary(max_size=60) | st.dictionaries(st.sampled_from((*fields, "source")), json_values)
       .map(lambda document: json.dumps(document).encode()), st.sampled_from([{}, OUR_HEADERS]))  # fmt: skip
def test_any_foreign_message_is_a_task_or_refused_with_a_message(
    body: bytes, headers: dict[str, str]
) -> None:
    message = Message("m", body, "key", headers=headers)
    with suppress(DamagedInputError):
        task = decode(message, UnextractedPdf)
        assert isinstance(task, Task)
        assert task.entry.id == "m"
        return
    with pytest.raises(DamagedInputError, match=r"^not a work object: .") as raised:
        decode(message, UnextractedPdf)
    assert raised.value.reason is Reason.BAD_MESSAGE


def test_deeply_nested_json_is_refused() -> None:
    for body in (
        b"[" * 100_000,
        b'{"source":' * 50_000,
        b'{"file_meta":' * 5_000 + b"1" + b"}" * 5_000,
    ):
        with pytest.raises(DamagedInputError):
            decode(Message("m", body), UnextractedPdf)
