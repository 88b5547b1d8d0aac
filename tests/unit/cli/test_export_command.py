"""`fonds export QUERY` and `fonds verify`: a result goes out whole, and comes back to be held against it."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator

from filled_home import fill_home, open_home
from fonds.cli.main import cli
from fonds.model.file import SEARCHED_KINDS
from fonds.model.rows import CdxRow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    fill_home(folder)
    return folder


def fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def test_how_many_is_said_before_the_rows(home: Path) -> None:
    done = fonds(home, "export", "flood", "kind:story", "--no-text")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.stderr == f"{len(rows)} documents found; all are exported\n"
    assert {row["kind"] for row in rows} == {"story"}
    cut = fonds(home, "export", "flood", "kind:story", "--limit", "2")
    assert len(cut.stdout.splitlines()) == 2
    assert cut.stderr.startswith(f"{len(rows)} documents found; the first 2 are exported")


def test_a_result_is_taken_back(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "floods.csv"
    fonds(home, "export", "flood", "--format", "csv", "--out", str(out))
    told = fonds(home, "verify", str(out))
    assert "is unchanged" in told.stdout
    assert "finds the same" in told.stdout
    assert "The index is unchanged" in told.stdout
    status = json.loads(fonds(home, "status", "--json").stdout)["generation"]
    hits = fonds(home, "search", "flood", "--json").stdout.splitlines()
    assert {json.loads(line)["generation"] for line in hits} == {status}
    assert json.loads(Path(f"{out}.manifest.json").read_text())["generation"] == status
    assert json.loads(fonds(home, "verify", str(out), "--json").stdout)["result_is_same"] is True
    manifest = Path(f"{out}.manifest.json")
    manifest.write_text(manifest.read_text().replace('"q": "flood"', '"q": "harvest"'))
    assert "Its search has changed" in fonds(home, "verify", str(manifest)).stdout


def test_a_library_written_whole_is_taken_back_without_a_search(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "library.jsonl"
    fonds(home, "export", "--out", str(out), "--no-text")
    told = json.loads(fonds(home, "verify", str(out), "--json").stdout)
    assert (told["file_is_whole"], told["result_is_same"]) == (True, None)
    assert told["then"] == len(out.read_text().splitlines())


def test_references_are_of_documents_alone(home: Path) -> None:
    assert fonds(home, "export", "--format", "bibtex").stdout.startswith("@")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export", "autor:x"), "there is no field"),
        (("export", "--limit", "3"), "--limit needs a QUERY"),
        (("export", "--format", "xls"), "xls"),
        (("verify", "/nowhere/x.csv"), "Cannot read the manifest"),
    ],
)
def test_what_cannot_be_done_is_told(home: Path, words: tuple[str, ...], told: str) -> None:
    done = fonds(home, *words)
    assert told in str(done.exception) + done.output
    assert done.exit_code != 0


def test_a_manifest_of_anything_is_refused(home: Path, tmp_path: Path) -> None:
    for text in ("", "[]", '{"file": 1}', "x" * 1_000_001, "[" * 100_000):
        (tmp_path / "x.manifest.json").write_text(text)
        done = fonds(home, "verify", str(tmp_path / "x"))
        assert "is not a manifest of an export" in str(done.exception) + done.output


def test_captures_go_out_as_they_are_archived_and_what_is_missing_is_said(tmp_path: Path) -> None:
    filled = fill_home(tmp_path)
    found = fonds(tmp_path, "export", "flood", "--format", "csv", "--no-text").stdout.splitlines()
    documents = len(found) - 1
    words = ["--home", str(tmp_path), "export", "flood", "--format", "warc"]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert (len(_captured(done)), done.return_value) == (documents, 0)
    assert "not exported: " not in done.stderr
    with open_home(tmp_path) as stores:
        (row,) = stores.records.find(CdxRow, {"sha1hex": filled.long})
    (tmp_path / "archive" / row.warc_path).unlink()
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert (len(_captured(done)), done.return_value) == (documents - len(filled.pdfs), 1)
    assert "not exported: " in done.stderr


def _captured(done: Result) -> list[str]:
    """The URLs of all captures in a WARC that was written, the account of the export left out."""
    records = ArchiveIterator(BytesIO(done.stdout_bytes))
    found = [record for record in records if record.rec_type in ("response", "resource")]
    urls = [one.rec_headers.get_header("WARC-Target-URI") for one in found]
    return [url for url in urls if url.startswith(("http://", "file:///scans/"))]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--kind", "citations"), "0 rows: no reference has been matched yet. Run `fonds match`"),
        (("--kind", "jats"), "0 documents: nothing found.\nNo document has the kind “jats”"),
        (
            ("--collection", "nowhere"),
            "0 documents: nothing found.\nNo document has the collection",
        ),
        (("nosuchword",), "0 documents: nothing found.\nNo document contains “nosuchword”."),
        (("nosuchword", "--format", "bibtex"), "0 documents: nothing found.\nNo document"),
    ],
)
def test_an_export_of_nothing_says_why(home: Path, words: tuple[str, ...], told: str) -> None:
    done = fonds(home, "export", *words)
    assert done.stderr.startswith(told)
    assert done.stdout in ("", "[]\n")


@pytest.mark.parametrize("command", ["search", "export"])
def test_the_help_names_every_kind(home: Path, command: str) -> None:
    told = " ".join(fonds(home, command, "--help").stdout.split())
    assert all(str(kind) in told for kind in SEARCHED_KINDS)
