"""`fonds export QUERY` and `fonds verify`: a result is exported completely and compared later."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator

from filled_home import fill_home, open_home
from fonds.cli.main import cli
from fonds.model.errors import ConfigurationError
from fonds.model.file import SEARCHED_KINDS
from fonds.model.rows import CdxRow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    fill_home(folder)
    return folder


def run_fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def test_the_number_of_documents_is_printed_before_the_rows(home: Path) -> None:
    result = run_fonds(home, "export", "flood", "kind:story", "--no-text")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.stderr == f"{len(rows)} documents found; all are exported\n"
    assert {row["kind"] for row in rows} == {"story"}
    cut = run_fonds(home, "export", "flood", "kind:story", "--limit", "2")
    assert len(cut.stdout.splitlines()) == 2
    assert cut.stderr.startswith(f"{len(rows)} documents found; the first 2 are exported")


def test_an_exported_result_is_verified(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "floods.csv"
    run_fonds(home, "export", "flood", "--format", "csv", "--out", str(out))
    verification = run_fonds(home, "verify", str(out))
    assert "is unchanged" in verification.stdout
    assert "finds the same" in verification.stdout
    assert "The index is unchanged" in verification.stdout
    status = json.loads(run_fonds(home, "status", "--json").stdout)["generation"]
    hits = run_fonds(home, "search", "flood", "--json").stdout.splitlines()
    assert {json.loads(line)["generation"] for line in hits} == {status}
    assert json.loads(Path(f"{out}.manifest.json").read_text())["generation"] == status
    assert (
        json.loads(run_fonds(home, "verify", str(out), "--json").stdout)["result_is_same"] is True
    )
    manifest = Path(f"{out}.manifest.json")
    manifest.write_text(manifest.read_text().replace('"q": "flood"', '"q": "harvest"'))
    assert "Its search has changed" in run_fonds(home, "verify", str(manifest)).stdout


def test_an_exported_library_is_verified_without_a_search(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "library.jsonl"
    run_fonds(home, "export", "--out", str(out), "--no-text")
    verification = json.loads(run_fonds(home, "verify", str(out), "--json").stdout)
    assert (verification["file_is_whole"], verification["result_is_same"]) == (True, None)
    assert verification["then"] == len(out.read_text().splitlines())


def test_bibtex_exports_only_documents(home: Path) -> None:
    assert run_fonds(home, "export", "--format", "bibtex").stdout.startswith("@")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("export", "autor:x"), "there is no field"),
        (("export", "--limit", "3"), "--limit needs a QUERY"),
        (("export", "--format", "xls"), "xls"),
        (("verify", "/nowhere/x.csv"), "Cannot read the manifest"),
    ],
)
def test_bad_input_is_refused(home: Path, words: tuple[str, ...], message: str) -> None:
    result = run_fonds(home, *words)
    assert message in str(result.exception) + result.output
    assert result.exit_code != 0


def test_an_invalid_manifest_is_refused(home: Path, tmp_path: Path) -> None:
    for text in ("", "[]", '{"file": 1}', "x" * 1_000_001, "[" * 100_000):
        (tmp_path / "x.manifest.json").write_text(text)
        done = run_fonds(home, "verify", str(tmp_path / "x"))
        assert "is not a manifest of an export" in str(done.exception) + done.output


def test_captures_are_exported_as_archived_and_missing_ones_are_reported(tmp_path: Path) -> None:
    filled_home = fill_home(tmp_path)
    lines = run_fonds(
        tmp_path, "export", "flood", "--format", "csv", "--no-text"
    ).stdout.splitlines()
    documents = len(lines) - 1
    words = ["--home", str(tmp_path), "export", "flood", "--format", "warc"]
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    assert (len(_list_captured_urls(result)), result.return_value) == (documents, 0)
    assert "not exported: " not in result.stderr
    with open_home(tmp_path) as stores:
        (row,) = stores.records.find(CdxRow, {"sha1hex": filled_home.long})
    (tmp_path / "archive" / row.warc_path).unlink()
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    assert (len(_list_captured_urls(result)), result.return_value) == (
        documents - len(filled_home.pdfs),
        1,
    )
    assert "not exported: " in result.stderr


def _list_captured_urls(result: Result) -> list[str]:
    """Return the URLs of all captures in a WARC, without the report of the export."""
    records = ArchiveIterator(BytesIO(result.stdout_bytes))
    captures = [record for record in records if record.rec_type in ("response", "resource")]
    urls = [capture.rec_headers.get_header("WARC-Target-URI") for capture in captures]
    return [url for url in urls if url.startswith(("http://", "file:///scans/"))]


@pytest.mark.parametrize(
    ("words", "message"),
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
def test_an_empty_export_explains_why(home: Path, words: tuple[str, ...], message: str) -> None:
    result = run_fonds(home, "export", *words)
    assert result.stderr.startswith(message)
    assert result.stdout in ("", "[]\n")


@pytest.mark.parametrize("command", ["search", "export"])
def test_the_help_names_every_kind(home: Path, command: str) -> None:
    help_text = " ".join(run_fonds(home, command, "--help").stdout.split())
    assert all(str(kind) in help_text for kind in SEARCHED_KINDS)


def test_a_failed_export_leaves_no_unfinished_file(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "library.jsonl"
    out.mkdir()
    done = CliRunner().invoke(cli, ["--home", str(home), "export", "--out", str(out)])
    assert isinstance(done.exception, ConfigurationError)
    assert f"Cannot write {out}" in str(done.exception)
    assert [*tmp_path.iterdir()] == [out]
    assert [*out.iterdir()] == []
