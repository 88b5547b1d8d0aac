"""The JSON of commands that change a library has the fields of docs/json.md: one small library
through its life."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from answer_checks import check_answers
from fonds.cli.main import cli, run

Objects = Sequence[Mapping[str, Any]]


class _CheckedCalls:
    """Calls commands on one home, and checks and returns their output."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *words: str) -> Objects:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            arguments = ["--home", str(self.home), *words, "--json"]
            code = run(lambda: cli.main(arguments, standalone_mode=False))
        assert code == 0, (words, err.buffer.getvalue().decode())
        objects = check_answers(words, out.buffer.getvalue().decode())
        assert objects, f"{words} prints nothing"
        return objects


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> _CheckedCalls:
    folder = tmp_path_factory.mktemp("acts")
    pages = folder / "pages"
    pages.mkdir()
    for number, words in enumerate(("The river rose in the night", "The council met at noon")):
        prose = f"{words}, and page {number} tells of it. " * 60
        head = f"<head><title>{words}</title></head>"
        page = f"<html>{head}<body><article><p>{prose}</p></article></body></html>"
        (pages / f"{number}.html").write_text(page)
    (pages / "empty.html").write_text("")
    new_call = _CheckedCalls(folder / "home")
    (ingested,) = new_call("ingest", str(pages))
    assert ingested["done"] == 2
    return new_call


def test_maintenance_commands(call: _CheckedCalls) -> None:
    call("status")
    call("audit")
    call("repair")
    call("repair", "--yes")
    call("reindex")
    call("catchup", "story", "--reextract", "--dry-run")
    call("catchup", "story", "--reextract")
    assert call("catchup", "sketch") == [{"remade": 0}]


def test_archive_commands(call: _CheckedCalls) -> None:
    (warc, *_) = call("archive", "list")
    call("archive", "verify")
    call("archive", "reindex", warc["warc_path"])
    (hit, *_) = call("search", "river")
    (description,) = call("show", hit["sha1hex"])
    place = description["captures"][0]
    call("archive", "extract", place["capture_id"])
    path = next((call.home / "archive").rglob(place["warc_path"]))
    call("archive", "extract", f"{path}:{place['warc_offset']}")


def test_table_commands(call: _CheckedCalls) -> None:
    (row, *_) = call("table", "scan")
    call("table", "get", row["key"])
    call("table", "put", row["key"], "grobid0:quality=good")
    dump = call.home.parent / "dump.jsonl"
    call("table", "export", str(dump))
    call("table", "import", str(dump))
    call("table", "create", "--table", "aside")


def test_collection_commands(call: _CheckedCalls) -> None:
    call("collection", "create", "told/all", "--query", "page")
    call("collection", "list")
    call("collection", "show", "told/all")
    own = call.home.parent / "own.jsonl"
    texts = ["the harbour was closed in the storm", "the harbour opened after the storm"]
    lines = [json.dumps({"id": f"own{n}", "text": text}) for n, text in enumerate(texts)]
    own.write_text("\n".join(lines))
    call("collection", "add", "told/all", str(own))
    call("collection", "frequencies", "told/all")
    call("configuration", "set", "told/fine", "clusters=2")
    call("configuration", "show", "told/fine")
    call("configuration", "list", "told")
    call("group", "told/all")
    (clusters,) = call("clusters", "told/all")
    call("group", "told/all")
    call("clusters", "told/all", "--changes")
    for cluster in clusters["clusters"][:1]:
        (details,) = call("clusters", "told/all", cluster["label"])
        call("clusters", "rename", "told/all", cluster["label"], "The harbour")
        call("clusters", "pin", "told/all", "The harbour")
        call("clusters", "unpin", "told/all", cluster["id"])
        document = details["members"][0]["id"]
        (excluded,) = call("clusters", "exclude", "told/all", cluster["id"], document)
        (included,) = call("clusters", "include", "told/all", cluster["id"], document)
        assert (excluded["documents"], included["documents"]) == (1, 1)
    call("collection", "remove", "told/all", "own0")
    call("collection", "delete", "told/all")
    call("configuration", "remove", "told/fine")


def test_source_commands(call: _CheckedCalls) -> None:
    url = "https://example.org/feed.xml"
    call("sources", "add", url)
    call("sources", "list")
    call("sources", "show", url)
    call("sources", "mute", url, "--until", "2999-01-31", "--note", "they move")
    call("sources", "unmute", url)
    call("sources", "backfill", url, "--from", "2025-01-01", "--undated")
    call("sources", "show", url)
    call("sources", "backfill", url, "--stop")
    call("sources", "pause", url)
    call("sources", "resume", url)
    call("sources", "remove", url)


def test_an_export_is_verified(call: _CheckedCalls) -> None:
    file = call.home.parent / "river.jsonl"
    words = ["--home", str(call.home), "export", "river", "--out", str(file)]
    assert run(lambda: cli.main(words, standalone_mode=False)) == 0
    call("verify", str(file))
