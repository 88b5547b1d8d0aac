"""Task lists: JSON lines with the locations of files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.ingest.sources.container import TASK_FIELDS, Container, detect_container
from fonds.ingest.sources.paths import PathSource
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.queues.messages.work_objects import SHAPES, WorkObject

from .conftest import read_captures

SHA1 = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
BASE32 = "F7KODRT2FUUPZ3MET3Q3W5XHHENZH2YS"
CDX = {
    "sha1hex": SHA1,
    "url": "http://example.org/a.pdf",
    "datetime": "20200102030405",
    "mimetype": "application/pdf",
    "warc_path": "crawl/a.warc.gz",
    "warc_offset": 0,
    "warc_csize": 812,
}


def read(tmp_path: Path, *lines: Any, base: str = "", is_compressed: bool = False) -> list[Capture]:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(gzip.compress(text.encode()) if is_compressed else text.encode())
    source = PathSource([path], tmp_path / "home", "default", base)
    (row,) = source.iter_inputs()
    assert row.kind == "tasks"
    return read_captures(source, row)[0]


def test_a_cdx_object_is_a_warc_record_also_at_offset_zero(tmp_path: Path) -> None:
    (capture,) = read(tmp_path, CDX, base="/archive")
    assert capture.place == Place(PlaceKind.WARC, "/archive/crawl/a.warc.gz", 0, 812)
    assert (capture.url, capture.datetime14) == ("http://example.org/a.pdf", "20200102030405")
    assert (capture.mime, capture.digest, capture.damage) == ("application/pdf", BASE32, None)


def test_a_base_can_be_a_server_or_a_bucket(tmp_path: Path) -> None:
    for base in ("https://warcs.example/x/", "s3://bucket/x"):
        (capture,) = read(tmp_path, CDX, base=base)
        assert capture.place.path == f"{base.rstrip('/')}/crawl/a.warc.gz"


def test_a_task_without_warc_path_is_replayed(tmp_path: Path) -> None:
    (capture,) = read(tmp_path, {**CDX, "warc_path": None})
    assert capture.place == Place(PlaceKind.REPLAY, "20200102030405/http://example.org/a.pdf")


@pytest.mark.parametrize("names", [("item", "path"), ("petabox_item", "petabox_path")])
def test_a_petabox_object_names_item_and_path(tmp_path: Path, names: tuple[str, str]) -> None:
    task = {names[0]: "an-item", names[1]: "a b/c.pdf", "sha1hex": SHA1}
    (capture,) = read(tmp_path, task)
    assert capture.place == Place(PlaceKind.PETABOX, "an-item/a b/c.pdf")
    assert capture.url == "https://archive.org/download/an-item/a%20b/c.pdf"


def test_a_local_file_is_expected_below_the_folder_of_the_list(tmp_path: Path) -> None:
    inside, outside, escaping = read(
        tmp_path, {"path": "papers/x.pdf", "sha1hex": SHA1},
        {"path": "/etc/passwd", "sha1hex": SHA1}, {"path": "../../y.pdf", "sha1hex": SHA1},
    )  # fmt: skip
    assert inside.place == Place(PlaceKind.FILE, str(tmp_path / "papers/x.pdf"))
    assert outside.place.path == str(tmp_path / "etc/passwd")
    assert escaping.place.path == str(tmp_path / "y.pdf")


def test_a_result_of_another_system_is_read_by_its_source(tmp_path: Path) -> None:
    (capture,) = read(
        tmp_path, {"sha1hex": SHA1, "status": "x", "source": {**CDX, "sha1hex": None}}
    )
    assert capture.place.kind is PlaceKind.WARC
    assert capture.url == CDX["url"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "not JSON"),
        ('["a list"]', "not a JSON object"),
        ({"sha1hex": SHA1, "mimetype": "x"}, "no location"),
        ({**CDX, "warc_offset": -1}, "warc_offset"),
        ({**CDX, "warc_offset": "12"}, "warc_offset"),
        ({**CDX, "datetime": "2020"}, "14-digit"),
        ({**CDX, "sha1hex": "zz"}, "not a SHA-1"),
        ({**CDX, "url": 7}, "url: "),
        ({**CDX, "warc_path": "../.."}, "no file named"),
    ],
)
def test_an_invalid_line_is_accounted_for_and_the_next_is_read(
    tmp_path: Path, line: Any, message: str
) -> None:
    bad, good = read(tmp_path, line, CDX)
    assert (bad.damage_reason, message in (bad.damage or "")) == (Reason.BAD_INDEX_LINE, True)
    assert "line 1" in (bad.damage or "")
    assert good.damage is None


def test_a_compressed_list_is_read_and_a_cut_one_reports_damage(tmp_path: Path) -> None:
    assert len(read(tmp_path, CDX, CDX, is_compressed=True)) == 2
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    source = PathSource([path], tmp_path / "home", "default", "")
    (row,) = source.iter_inputs()
    rows, _ = read_captures(source, row)
    assert rows[-1].damage_reason is Reason.DAMAGED_RECORD


def test_reading_resumes_at_its_position(tmp_path: Path) -> None:
    read(tmp_path, CDX, CDX, CDX)
    source = PathSource([tmp_path / "tasks.jsonl"], tmp_path / "home", "default", "")
    (row,) = source.iter_inputs()
    all_captures, _ = read_captures(source, row)
    remaining, _ = read_captures(source, replace(row, position=1))
    assert remaining == all_captures[1:]


def test_other_json_lines_are_not_detected_as_tasks() -> None:
    assert detect_container(json.dumps(CDX).encode()) is Container.TASKS
    assert detect_container(b'{"title": "a page", "text": "words"}\n') is None
    assert detect_container(b"{}\n") is None


@given(
    st.dictionaries(st.sampled_from(sorted(CDX)), st.none() | st.integers() | st.text(max_size=20))
)
def test_any_json_object_is_exactly_one_capture(task: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        assert len(read(Path(folder), task, *[CDX] * 3)) == 4


@pytest.mark.parametrize(
    "line",
    [
        {"path": "a/b.pdf", "kind": "pdf", "words": ["tide", "gauge"]},
        {"path": "a/b.pdf", "url": "http://example.org/b", "license": "CC0"},
        {"url": "http://example.org/b", "datetime": "2024-03-05T06:07:08Z", "text": "Tide."},
        {"item": "spade", "price": 3, "sha1hex": SHA1},
        {"path": 17},
    ],
)
def test_json_lines_of_other_shapes_are_a_loose_file(
    tmp_path: Path, line: dict[str, object]
) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(f"{json.dumps(line)}\n" * 3)
    (row,) = PathSource([path], tmp_path / "home", "default", "").iter_inputs()
    assert row.kind == "file"


def test_every_documented_shape_is_detected_as_tasks() -> None:
    values = {"warc_offset": 0, "datetime": "20200102030405"}
    for names in SHAPES.values():
        line = json.dumps({name: values.get(name, "a") for name in names})
        assert detect_container(f"{line}\n".encode()) is Container.TASKS, line


def test_the_fields_of_a_line_are_those_of_a_work_object() -> None:
    assert set(WorkObject.__struct_fields__) | {"source"} == TASK_FIELDS
