"""`fonds ingest` into pipelines that begin with links: dry runs, entered links, and refused
input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from calls import Call, CallResult

LINES = ["url", "https://news.example.org/1", "https://news.example.org/2", "https://youtube.com/3"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "urls.csv"
    path.write_text("\n".join(LINES))
    return path


def ingest(call: Call, tmp_path: Path, *words: str) -> CallResult:
    home = str(tmp_path / "home")
    return call("ingest", "--home", home, "--json", "--pipeline", "csv", *words)


def test_a_dry_run_counts_new_links_and_writes_nothing(
    call: Call, tmp_path: Path, table: Path
) -> None:
    dry_run = json.loads(ingest(call, tmp_path, "--dry-run", str(table)).out)
    assert (dry_run["links"], dry_run["others"]) == (2, {"non-news": 1})
    assert dry_run["first"] == LINES[1:3]
    assert not (tmp_path / "home").exists()


def test_links_enter_once_and_a_dry_run_then_knows_them(
    call: Call, tmp_path: Path, table: Path
) -> None:
    first = json.loads(ingest(call, tmp_path, "--enter-only", str(table)).out)
    second = json.loads(ingest(call, tmp_path, "--enter-only", str(table)).out)
    assert (first["entered"], second["entered"]) == (2, 0)
    dry_run = json.loads(ingest(call, tmp_path, "--dry-run", str(table)).out)
    assert (dry_run["known"], dry_run["links"], dry_run["others"]) == (True, 0, {})
    table.write_text("\n".join([*LINES, "https://news.example.org/4"]))
    dry_run = json.loads(ingest(call, tmp_path, "--dry-run", str(table)).out)
    assert (dry_run["links"], dry_run["others"]) == (1, {"known-link": 2, "non-news": 1})


@pytest.mark.parametrize("order", [[], ["--shuffle"]], ids=["in order", "shuffled"])
def test_a_truncated_list_is_continued_when_it_is_complete(
    call: Call, tmp_path: Path, order: list[str]
) -> None:
    lines = "\n".join(f"https://news.example.org/{number}" for number in range(2_000)).encode()
    path = tmp_path / "urls.csv.gz"
    path.write_bytes(gzip.compress(lines)[:-1_000])
    words = ["--enter-only", *order, str(path)]
    first = ingest(call, tmp_path, *words)
    assert first.code == 1
    n_first = json.loads(first.out)["entered"]
    assert 0 < n_first < 2_000
    dry_call = ingest(call, tmp_path, "--dry-run", *order, str(path))
    dry_run = json.loads(dry_call.out)
    assert (dry_call.code, dry_run["known"], dry_run["links"]) == (1, False, 0)
    assert dry_run["others"] == {"damaged-record": 1}
    assert json.loads(ingest(call, tmp_path, *words).out)["entered"] == 0
    path.write_bytes(gzip.compress(lines))
    last_call = ingest(call, tmp_path, *words)
    last = json.loads(last_call.out)
    assert (last_call.code, n_first + last["entered"], last["read_later"]) == (0, 2_000, 1)


def test_a_dry_run_reports_a_missing_list_each_time(
    call: Call, tmp_path: Path, table: Path
) -> None:
    names = tmp_path / "names"
    names.write_text(f"{tmp_path / 'gone.csv'}\n")
    assert ingest(call, tmp_path, "--enter-only", f"@{names}").code == 1
    dry_call = ingest(call, tmp_path, "--dry-run", f"@{names}")
    dry_run = json.loads(dry_call.out)
    assert (dry_call.code, dry_run["known"], dry_run["error"]) == (1, False, "no such file")


def test_a_limited_number_enters_first_and_the_rest_later(
    call: Call, tmp_path: Path, table: Path
) -> None:
    first = json.loads(ingest(call, tmp_path, "--enter-only", "--max", "1", str(table)).out)
    rest = json.loads(ingest(call, tmp_path, "--enter-only", "--shuffle", str(table)).out)
    assert (first["entered"], rest["entered"]) == (1, 1)


def test_a_list_of_lists_may_name_files_on_other_machines(
    call: Call, tmp_path: Path, table: Path
) -> None:
    names = tmp_path / "names"
    names.write_text(f"{table}\nhttp://127.0.0.1:1/private.csv\n")
    result = ingest(call, tmp_path, "--enter-only", f"@{names}")
    assert result.code == 1
    assert json.loads(result.out)["entered"] == 2
    assert "private address" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ftp://a.example/x",), "http, https and s3"),
        (("https://a:word@a.example/x",), "sources.logins"),
        (("nowhere.csv",), "no such file"),
        (("--sample", "0", "x"), "0"),
    ],
)
def test_bad_input_is_refused_with_a_message(
    call: Call, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = ingest(call, tmp_path, *words)
    assert result.code == 2
    assert message in result.err
    assert "word@" not in result.err


def test_a_pipeline_of_captures_has_no_options_for_links(call: Call, table: Path) -> None:
    result = call("ingest", "--max", "3", str(table))
    assert result.code == 2
    assert "'library' does not" in result.err
