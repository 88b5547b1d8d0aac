"""`fonds ingest` into pipelines that begin with links: dry runs, entered links, and refused
input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from calls import Call, CallResult

LIST_LINES = [
    "url",
    "https://news.example.org/1",
    "https://news.example.org/2",
    "https://youtube.com/3",
]


@pytest.fixture
def list_path(tmp_path: Path) -> Path:
    path = tmp_path / "urls.csv"
    path.write_text("\n".join(LIST_LINES))
    return path


def ingest(call: Call, tmp_path: Path, *arguments: str) -> CallResult:
    home = str(tmp_path / "home")
    return call("ingest", "--home", home, "--json", "--pipeline", "csv", *arguments)


def test_a_dry_run_counts_new_links_and_writes_nothing(
    call: Call, tmp_path: Path, list_path: Path
) -> None:
    dry_run = json.loads(ingest(call, tmp_path, "--dry-run", str(list_path)).out)
    assert (dry_run["links"], dry_run["others"]) == (2, {"non-news": 1})
    assert dry_run["first"] == LIST_LINES[1:3]
    assert not (tmp_path / "home").exists()


def test_links_enter_once_and_a_later_dry_run_reports_them_as_known(
    call: Call, tmp_path: Path, list_path: Path
) -> None:
    first_summary = json.loads(ingest(call, tmp_path, "--enter-only", str(list_path)).out)
    second_summary = json.loads(ingest(call, tmp_path, "--enter-only", str(list_path)).out)
    assert (first_summary["entered"], second_summary["entered"]) == (2, 0)
    dry_run = json.loads(ingest(call, tmp_path, "--dry-run", str(list_path)).out)
    assert (dry_run["known"], dry_run["links"], dry_run["others"]) == (True, 0, {})
    list_path.write_text("\n".join([*LIST_LINES, "https://news.example.org/4"]))
    dry_run = json.loads(ingest(call, tmp_path, "--dry-run", str(list_path)).out)
    assert (dry_run["links"], dry_run["others"]) == (1, {"known-link": 2, "non-news": 1})


@pytest.mark.parametrize("order", [[], ["--shuffle"]], ids=["in order", "shuffled"])
def test_a_truncated_list_is_continued_when_it_is_complete(
    call: Call, tmp_path: Path, order: list[str]
) -> None:
    lines = "\n".join(f"https://news.example.org/{number}" for number in range(2_000)).encode()
    path = tmp_path / "urls.csv.gz"
    path.write_bytes(gzip.compress(lines)[:-1_000])
    arguments = ["--enter-only", *order, str(path)]
    first_call = ingest(call, tmp_path, *arguments)
    assert first_call.code == 1
    first_count = json.loads(first_call.out)["entered"]
    assert 0 < first_count < 2_000
    dry_call = ingest(call, tmp_path, "--dry-run", *order, str(path))
    dry_run = json.loads(dry_call.out)
    assert (dry_call.code, dry_run["known"], dry_run["links"]) == (1, False, 0)
    assert dry_run["others"] == {"damaged-record": 1}
    assert json.loads(ingest(call, tmp_path, *arguments).out)["entered"] == 0
    path.write_bytes(gzip.compress(lines))
    last_call = ingest(call, tmp_path, *arguments)
    last_summary = json.loads(last_call.out)
    assert last_call.code == 0
    assert first_count + last_summary["entered"] == 2_000
    assert last_summary["read_later"] == 1


def test_a_dry_run_after_a_failed_ingest_reports_the_missing_list(
    call: Call, tmp_path: Path
) -> None:
    list_of_lists = tmp_path / "lists"
    list_of_lists.write_text(f"{tmp_path / 'gone.csv'}\n")
    assert ingest(call, tmp_path, "--enter-only", f"@{list_of_lists}").code == 1
    dry_call = ingest(call, tmp_path, "--dry-run", f"@{list_of_lists}")
    dry_run = json.loads(dry_call.out)
    assert (dry_call.code, dry_run["known"], dry_run["error"]) == (1, False, "no such file")


def test_max_limits_the_entered_links_and_the_next_ingest_enters_the_rest(
    call: Call, tmp_path: Path, list_path: Path
) -> None:
    first_summary = json.loads(
        ingest(call, tmp_path, "--enter-only", "--max", "1", str(list_path)).out
    )
    second_summary = json.loads(
        ingest(call, tmp_path, "--enter-only", "--shuffle", str(list_path)).out
    )
    assert (first_summary["entered"], second_summary["entered"]) == (1, 1)


def test_a_list_of_lists_may_name_files_on_other_machines(
    call: Call, tmp_path: Path, list_path: Path
) -> None:
    list_of_lists = tmp_path / "lists"
    list_of_lists.write_text(f"{list_path}\nhttp://127.0.0.1:1/private.csv\n")
    result = ingest(call, tmp_path, "--enter-only", f"@{list_of_lists}")
    assert result.code == 1
    assert json.loads(result.out)["entered"] == 2
    assert "private address" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ftp://a.example/x",), "http, https and s3"),
        (("https://a:word@a.example/x",), "sources.logins"),
        (("nowhere.csv",), "no such file"),
        (("--sample", "0", "x"), "0"),
    ],
)
def test_bad_input_is_refused_with_a_message(
    call: Call, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = ingest(call, tmp_path, *arguments)
    assert result.code == 2
    assert message in result.err
    assert "word@" not in result.err


def test_a_pipeline_of_captures_has_no_options_for_links(call: Call, list_path: Path) -> None:
    result = call("ingest", "--max", "3", str(list_path))
    assert result.code == 2
    assert "'library' does not" in result.err
