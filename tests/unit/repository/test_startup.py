"""Commands load only what they use, because some libraries load slowly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fonds.config import load_settings
from fonds.wiring.readers import EXTRACT_PDF, PARSE_PAGE
from fonds.wiring.stores import close_stores, open_stores

PARSERS = ("trafilatura", "lxml", "htmldate", "pypdfium2", "pikepdf", "PIL", "pyarrow")
SERVERS = (
    "fastapi",
    "uvicorn",
    "prometheus_client",
    "urllib3",
    "pika",
    "confluent_kafka",
    "psycopg",
)
MIGRATOR = ("alembic", "mako", "sqlalchemy.dialects.postgresql")
SQL = ("sqlalchemy", *MIGRATOR)
UNUSED = ("warcio", "numpy")
"""Modules that `status` and `show` do not need in a home without collections."""
NOT_SEARCHED = (
    "fonds.model.rows",
    "fonds.archive",
    "fonds.pipelines",
    "fonds.queues",
    "fonds.stores",
)
"""Row types and stores other than the index, which a search for words does not read."""
NOT_COUNTED = ("fonds.archive", "fonds.grouping", "fonds.stores.table", "fonds.derivatives")
"""Stores that `status` does not open."""
ARITHMETIC = ("sklearn", "scipy", "onnxruntime")
"""Modules that only grouping needs."""

NOT_LOADED = {
    ("--version",): (*PARSERS, *SERVERS, *SQL, "pydantic", "rich", "msgspec", "tantivy"),
    ("--help",): (*PARSERS, *SERVERS, *SQL, "pydantic", "rich", "msgspec", "tantivy"),
    ("search", "flood"): (*PARSERS, *SERVERS, *SQL, *NOT_SEARCHED),
    ("show", "ab" * 20): (*PARSERS, *SERVERS, *MIGRATOR, *UNUSED),
    ("status",): (*PARSERS, *SERVERS, *MIGRATOR, *UNUSED, *NOT_COUNTED),
    ("failures",): (*PARSERS, *SERVERS, *MIGRATOR),
    ("pipelines",): (*PARSERS, *SERVERS, *SQL, "tantivy"),
    ("backfill", "cdx", "--help"): (*PARSERS, *SERVERS, *SQL),
    ("queue", "list"): (*PARSERS, *SERVERS, *SQL, "tantivy"),
}

RUN = """
import json, sys
from fonds.cli.main import cli, run
code = run(lambda: cli.main(sys.argv[1:], standalone_mode=False))
print("\\n" + json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    close_stores(open_stores(folder, load_settings(folder, {})))
    return folder


def test_loading_the_commands_starts_no_thread() -> None:
    """Child processes are forked from a process that has loaded all commands."""
    load = (
        "from importlib import import_module; from pathlib import Path; from fonds.cli.main import COMMANDS;"
        "[import_module(name) for name in COMMANDS.values()];"
        "print(len(list(Path('/proc/self/task').iterdir())))"
    )
    process = subprocess.run(
        [sys.executable, "-c", load], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "1"


@pytest.mark.parametrize("words", NOT_LOADED, ids=" ".join)
def test_a_command_loads_only_what_it_uses(home: Path, words: tuple[str, ...]) -> None:
    arguments = words if words[0].startswith("--") else ("--home", str(home), *words)
    process = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    loaded = set(json.loads(process.stdout.splitlines()[-1]))
    assert "click" in loaded
    assert sorted(loaded & {*NOT_LOADED[words], *ARITHMETIC}) == []


def test_an_import_of_an_index_loads_no_parsers_and_no_arithmetic(home: Path) -> None:
    index = home.with_name("captures.cdx")
    index.write_text(" CDX N b a m s k r M S V g\n")
    script = f"{RUN}\nassert code in (0, 1), code"
    done = subprocess.run(
        [sys.executable, "-c", script, "--home", str(home), "backfill", "cdx", str(index)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert sorted(loaded & {*PARSERS, *ARITHMETIC, "fastapi"}) == []


def test_an_ingest_loads_the_parsers_only_in_child_processes(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f"<title>Flood</title><p>{'water rose ' * 40}")
    arguments = ["--home", str(tmp_path / "home"), "ingest", str(tmp_path / "page.html")]
    done = subprocess.run(
        [sys.executable, "-c", f"{RUN}\nassert code == 0, code", *arguments],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert sorted(loaded & {"trafilatura", PARSE_PAGE.module, EXTRACT_PDF.module}) == []
