"""Messages of the command line are for people: no error numbers, date codes or wrong plurals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fonds.model.file import SEARCHED_KINDS

RAW = re.compile(r"\[Errno|%Y|Traceback|\.part\b|codec can't")
WRONG_PLURAL = re.compile(
    r"(?<![\d,.])1 (?:file|page|record|document|row|capture|input|WARC file|WARC|cell|cluster|theme)s\b"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one paper of one page."""
    folder = tmp_path_factory.mktemp("messages")
    paper = folder / "paper.pdf"
    paper.write_bytes(text_pdf(["Salt marshes along the coast."]))
    assert fonds(folder / "home", "ingest", paper).code == 0
    return folder / "home"


@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "@{absent}"),
        ("ingest", "@{binary}"),
        ("ingest", "{absent}"),
        ("ingest", "--warc-base", "{absent}", "{binary}"),
        ("extract", "{absent}"),
        ("search", "x", "--from", "yesterday"),
        ("search", "x", "--as-of", "2024-13-01"),
        ("keys", "create", "ann", "--role", "curator", "--until", "soon"),
        ("export", "--out", "{absent}/library.csv", "--format", "csv"),
        ("export", "marshes", "--out", "{absent}/library.bib", "--format", "bibtex"),
        ("verify", "{absent}"),
        ("verify", "{binary}"),
        ("sources", "import", "{absent}"),
        ("sources", "import", "{binary}"),
        ("catalog", "load", "{absent}"),
        ("match", "strings", "{absent}"),
        ("queue", "load", "{absent}"),
        ("queue", "dump", "library.identify", "{absent}/dump.warc.gz"),
        ("table", "export", "{absent}/rows.jsonl"),
        ("table", "import", "{absent}"),
        ("table", "put", "sha1:AAAA", "file:note=@{absent}"),
        ("backfill", "cdx", "{absent}"),
        ("backfill", "extract", "--to", "parquet", "--out", "{binary}/rows", "{absent}"),
        ("collection", "add", "made/floods", "{absent}"),
        ("archive", "list", "{absent}"),
        ("archive", "extract", "{absent}:0"),
        ("fetch", "--from", "{absent}"),
        ("show", "{absent}"),
        ("status", "--home", "{binary}"),
        ("search", "marshes", "--home", "{binary}/home"),
    ],
    ids=lambda words: " ".join(words),
)
def test_an_error_message_has_no_internal_codes(
    library: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00\x81")
    arguments = [word.format(absent=tmp_path / "absent", binary=binary) for word in words]
    result = fonds(library, *arguments)
    assert result.code != 0
    assert result.err
    assert RAW.search(result.out + result.err) is None, result.err


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("search", "marshes"),
        ("search", "--kind", str(SEARCHED_KINDS[0])),
        ("export", "marshes"),
        ("export", "--out", "{folder}/library.csv", "--format", "csv"),
        ("export", "marshes", "--out", "{folder}/library.bib", "--format", "bibtex"),
        ("archive", "list"),
        ("archive", "verify"),
        ("audit", "--deep"),
        ("doctor",),
        ("failures",),
        ("reindex",),
        ("catchup", "--list"),
        ("table", "export", "{folder}/rows.jsonl"),
        ("collection", "create", "made/marshes", "--query", "marshes"),
        ("collection", "list"),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_count_of_one_has_no_plural(
    library: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    result = fonds(library, *[word.format(folder=tmp_path) for word in words])
    assert result.code == 0, result.err
    assert WRONG_PLURAL.search(result.out + result.err) is None, result.out + result.err
