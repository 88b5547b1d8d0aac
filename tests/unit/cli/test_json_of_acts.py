"""What acts on a library answers as docs/json.md says: one small library, taken through its life."""

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


class _Calls:
    """Calls over one home; what each wrote is checked and given back."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *words: str) -> Objects:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            call = ["--home", str(self.home), *words, "--json"]
            code = run(lambda: cli.main(call, standalone_mode=False))
        assert code == 0, (words, err.buffer.getvalue().decode())
        objects = check_answers(words, out.buffer.getvalue().decode())
        assert objects, f"{words} answers nothing"
        return objects


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> _Calls:
    folder = tmp_path_factory.mktemp("acts")
    pages = folder / "pages"
    pages.mkdir()
    for number, words in enumerate(("The river rose in the night", "The council met at noon")):
        prose = f"{words}, and page {number} tells of it. " * 60
        head = f"<head><title>{words}</title></head>"
        page = f"<html>{head}<body><article><p>{prose}</p></article></body></html>"
        (pages / f"{number}.html").write_text(page)
    (pages / "empty.html").write_text("")
    called = _Calls(folder / "home")
    (done,) = called("ingest", str(pages))
    assert done["done"] == 2
    return called


def test_looking_after_the_stores(told: _Calls) -> None:
    told("status")
    told("audit")
    told("repair")
    told("repair", "--yes")
    told("reindex")
    told("catchup", "story", "--reextract", "--dry-run")
    told("catchup", "story", "--reextract")
    assert told("catchup", "sketch") == [{"remade": 0}]


def test_the_archive(told: _Calls) -> None:
    (warc, *_) = told("archive", "list")
    told("archive", "verify")
    told("archive", "reindex", warc["warc_path"])
    (hit, *_) = told("search", "river")
    (shown,) = told("show", hit["sha1hex"])
    place = shown["captures"][0]
    told("archive", "extract", place["capture_id"])
    path = next((told.home / "archive").rglob(place["warc_path"]))
    told("archive", "extract", f"{path}:{place['warc_offset']}")


def test_the_table(told: _Calls) -> None:
    (row, *_) = told("table", "scan")
    told("table", "get", row["key"])
    told("table", "put", row["key"], "grobid0:quality=good")
    dump = told.home.parent / "dump.jsonl"
    told("table", "export", str(dump))
    told("table", "import", str(dump))
    told("table", "create", "--table", "aside")


def test_collections(told: _Calls) -> None:
    told("collection", "create", "told/all", "--query", "page")
    told("collection", "list")
    told("collection", "show", "told/all")
    own = told.home.parent / "own.jsonl"
    texts = ["the harbour was closed in the storm", "the harbour opened after the storm"]
    lines = [json.dumps({"id": f"own{n}", "text": text}) for n, text in enumerate(texts)]
    own.write_text("\n".join(lines))
    told("collection", "add", "told/all", str(own))
    told("collection", "frequencies", "told/all")
    told("configuration", "set", "told/fine", "clusters=2")
    told("configuration", "show", "told/fine")
    told("configuration", "list", "told")
    told("group", "told/all")
    (found,) = told("clusters", "told/all")
    told("group", "told/all")
    told("clusters", "told/all", "--changes")
    for one in found["clusters"][:1]:
        (shown,) = told("clusters", "told/all", one["label"])
        told("clusters", "rename", "told/all", one["label"], "The harbour")
        told("clusters", "pin", "told/all", "The harbour")
        told("clusters", "unpin", "told/all", one["id"])
        document = shown["members"][0]["id"]
        (out,) = told("clusters", "exclude", "told/all", one["id"], document)
        (back,) = told("clusters", "include", "told/all", one["id"], document)
        assert (out["documents"], back["documents"]) == (1, 1)
    told("collection", "remove", "told/all", "own0")
    told("collection", "delete", "told/all")
    told("configuration", "remove", "told/fine")


def test_sources(told: _Calls) -> None:
    at = "https://example.org/feed.xml"
    told("sources", "add", at)
    told("sources", "list")
    told("sources", "show", at)
    told("sources", "mute", at, "--until", "2999-01-31", "--note", "they move")
    told("sources", "unmute", at)
    told("sources", "backfill", at, "--from", "2025-01-01", "--undated")
    told("sources", "show", at)
    told("sources", "backfill", at, "--stop")
    told("sources", "pause", at)
    told("sources", "resume", at)
    told("sources", "remove", at)


def test_an_export_is_verified(told: _Calls) -> None:
    file = told.home.parent / "river.jsonl"
    words = ["--home", str(told.home), "export", "river", "--out", str(file)]
    assert run(lambda: cli.main(words, standalone_mode=False)) == 0
    told("verify", str(file))
