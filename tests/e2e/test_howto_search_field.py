"""Follows `docs/howto/add-a-search-field.md` in a copy of the repository, with the code that stands there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.howto_copy import CODE_RULES, Copy, copy_repository, run_checks
from e2e.running import fonds
from fixtures.pdfs import text_pdf

pytestmark = pytest.mark.xdist_group("howto_search_field")


GENERATED_PAGES = """
import runpy, sys
sys.path.insert(0, "scripts")
for page in ("query", "json"):
    runpy.run_path(f"scripts/{page}_page.py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return copy_repository(tmp_path_factory.mktemp("copy"), "add-a-search-field.md")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, copy: Copy) -> Path:
    """A home with two PDFs of different versions, whose index is built again for the new field."""
    home, papers = tmp_path_factory.mktemp("home") / "home", tmp_path_factory.mktemp("papers")
    for name in ("1.4", "1.7"):
        paper = text_pdf((f"Levels of the estuary by format {name}.",))
        assert paper.startswith(b"%PDF-1.")
        (papers / f"{name}.pdf").write_bytes(b"%PDF-" + name.encode() + paper[len("%PDF-1.x") :])
    assert fonds(home, "ingest", papers).code == 0
    assert len(copy.follow()) == 6
    ran = copy.run(GENERATED_PAGES)
    assert ran.code == 0, ran.err
    refused = copy.fonds(home, "search", "estuary")
    assert refused.code != 0
    assert "fonds reindex" in refused.err
    assert copy.fonds(home, "reindex").code == 0
    return home


def test_the_tests_of_the_house_hold_in_the_copy(copy: Copy, home: Path) -> None:
    run_checks(
        copy,
        *CODE_RULES,
        "tests/unit/repository/test_pages.py",
        "tests/contract/test_index_formats.py",
        "tests/contract/test_index_queries.py",
        "tests/unit/search/test_query_completion.py",
    )


def test_the_field_is_found_and_shown_on_the_command_line(copy: Copy, home: Path) -> None:
    for query, names in {
        "format:1.7": ["1.7"],
        "estuary format:1.*": ["1.4", "1.7"],
        "estuary -format:1.7": ["1.4"],
    }.items():
        rows = copy.fonds(home, "search", "--json", "--", query).lines
        assert sorted(row["fields"]["format"][0] for row in rows) == names
        exported = copy.fonds(home, "export", "--no-text", "--", query).lines
        assert sorted(row["pdf_version"] for row in exported) == names
    header = copy.fonds(home, "export", "--format", "csv", "--no-text").out.splitlines()[0]
    assert "pdf_version" in header.split(",")
    assert copy.fonds(home, "audit").code == 0


PAGES = """
import sys
from pathlib import Path
from starlette.testclient import TestClient
from fonds.config import Settings
from fonds.web.app import create_app
from fonds.wiring.stores import open_stores
client = TestClient(create_app(open_stores(Path(sys.argv[1]), Settings())), base_url="http://localhost")
for path in sys.argv[2:]:
    print(client.get(path).text.replace("\\n", " "))
"""


def test_page_api_and_completion_know_it(copy: Copy, home: Path) -> None:
    paths = ("/search?q=format:1.7", "/api/search?q=format:1.7", "/api/complete?q=form")
    ran = copy.run(PAGES, str(home), *paths, "/api/complete?q=format:1.")
    assert ran.code == 0, ran.err
    page, api, names, values = ran.out.splitlines()
    assert "PDF 1.7" in page
    (result,) = json.loads(api)["results"]
    assert result["fields"] == {"format": ["1.7"]}
    assert [one["value"] for one in json.loads(names)["completions"]] == ["format"]
    found = {one["value"]: one["count"] for one in json.loads(values)["completions"]}
    assert found == {"1.4": 1, "1.7": 1}


def test_the_documentation_lists_it(copy: Copy, home: Path) -> None:
    page = (copy.root / "docs" / "query.md").read_text("utf-8")
    assert "| `format:` | a version of the PDF format, or none | `format:1.7` |" in page
