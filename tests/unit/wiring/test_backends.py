"""Opening the backends in the settings: by URL, inside or outside the home, shared or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.archives import build_entry
from fonds.audit import audit
from fonds.audit.repair.cleanup import raise_if_emptied
from fonds.config import PORTS, Settings
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.wiring import backends
from fonds.wiring.archive import open_archive
from fonds.wiring.backends import BACKENDS, BackendSpec, are_stores_shared
from fonds.wiring.flavours import list_concurrent_stages, list_readers
from fonds.wiring.stores import close_stores, open_stores

ON_SERVERS = Settings(
    queue="kafka://host",
    table="hbase://host",
    records="postgresql://host/fonds",
    blobs="s3://bucket",
    index="opensearch://host",
)


def test_the_default_stores_are_not_shared() -> None:
    assert not are_stores_shared(Settings())


def test_servers_and_folders_are_shared() -> None:
    assert are_stores_shared(ON_SERVERS)
    assert are_stores_shared(ON_SERVERS.replace_values(blobs="file:/shared/blobs"))


@pytest.mark.parametrize("port", ["queue", "table", "records", "index"])
def test_one_local_store_makes_the_stores_unshared(port: str) -> None:
    url = getattr(Settings(), port)
    assert not are_stores_shared(ON_SERVERS.replace_values(**{port: url}))


def test_a_store_in_memory_is_not_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store in memory has no path in the home and is still not shared."""
    monkeypatch.setitem(BACKENDS["blobs"], "memory", BackendSpec("nowhere:Blobs", is_shared=False))
    assert not are_stores_shared(ON_SERVERS.replace_values(blobs="memory:"))


@pytest.mark.parametrize("port", PORTS)
def test_an_unknown_scheme_is_refused_with_the_known_ones(port: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no backend named .gopher.. Known: [a-z]"
    ) as error:
        backends.open_backend(port, "gopher://key:hidden@host", tmp_path)
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize("path", ["archive", "deep/below/warcs", "/absolute"])
def test_the_archive_is_in_the_configured_folder(path: str, tmp_path: Path) -> None:
    place = f"{tmp_path}{path}" if path.startswith("/") else path
    archive = open_archive(tmp_path / "home", Settings(archive=f"file:{place}"))
    folder = tmp_path / "home" / place
    assert not folder.exists()
    (body,) = archive.write([build_entry()])
    assert (folder / body.place.path).is_file()


def test_stages_that_write_an_embedded_index_are_not_concurrent() -> None:
    embedded = list_concurrent_stages(Settings())
    assert {"identify", "parse_story", "archive_body"} <= set(embedded)
    assert not {"import_story", "persist_pdf_text"} & set(embedded)
    assert "import_story" in list_concurrent_stages(ON_SERVERS)


def test_an_exclusive_store_allows_no_concurrent_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    exclusive = BackendSpec("nowhere:Blobs", is_shared=False, is_exclusive=True)
    monkeypatch.setitem(BACKENDS["blobs"], "memory", exclusive)
    assert list_concurrent_stages(Settings(blobs="memory:")) == []


def test_an_unavailable_index_does_not_block_the_check_for_empty_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = open_stores(tmp_path, Settings())

    def fail(index: object) -> int:
        raise StoreUnavailableError("the index does not answer")

    monkeypatch.setattr(type(stores.index), "count", fail)
    raise_if_emptied(stores)
    stores.table.put(stores.journal, [(b"\x01" * 20, {"file:size": b"5"})])
    with pytest.raises(ConfigurationError, match="the records contain no files"):
        raise_if_emptied(stores)
    close_stores(stores)


def test_the_first_rows_of_the_table_show_whether_records_were_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "TABLE_ROWS_MAX", 2)
    stores = open_stores(tmp_path, Settings())
    listed_rows = [(bytes([number]) * 20, {"file:cdx": b"x"}) for number in (1, 2)]
    stores.table.put(stores.journal, [*listed_rows, (b"\x03" * 20, {"file:size": b"5"})])
    raise_if_emptied(stores)
    stores.table.put(stores.journal, [(b"\x02" * 20, {"file:size": b"5"})])
    with pytest.raises(ConfigurationError, match="but the table does"):
        raise_if_emptied(stores)
    close_stores(stores)


def test_table_and_topics_have_separate_groups(tmp_path: Path) -> None:
    """The seeds define both names. One home can have the table of one group and the topics of another."""
    settings = Settings(group="wbgrp", topic_group="sandcrawler", env="prod")
    stores = open_stores(tmp_path, settings)
    try:
        assert stores.journal == "wbgrp-journal-extract-0-prod"
        assert stores.journal in stores.table.list_tables()
    finally:
        close_stores(stores)
    topics = {reader.topic for reader in list_readers(settings)}
    assert "sandcrawler-prod.unextracted" in topics
    assert {topic.partition(".")[0] for topic in topics} == {"sandcrawler-prod"}
    default_topics = {
        reader.topic for reader in list_readers(settings.replace_values(topic_group=""))
    }
    assert {topic.partition(".")[0] for topic in default_topics} == {"wbgrp-prod"}


BLOCKING_PROGRAM = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {libraries!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
LIBRARIES = (
    "pika", "confluent_kafka", "psycopg", "obstore", "elasticsearch", "opensearchpy", "happybase",
)  # fmt: skip
WITH_EXTRAS = [
    (port, scheme, spec.extra)
    for port, schemes in BACKENDS.items()
    for scheme, spec in schemes.items()
    if spec.extra
]


def run_without_extras(script: str, *words: str) -> str:
    """Return the output of a process that cannot import the libraries of the extras."""
    command = [sys.executable, "-c", BLOCKING_PROGRAM.format(libraries=LIBRARIES) + script, *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return result.stdout + result.stderr


def test_each_backend_names_its_missing_extra(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from fonds.model.errors import ConfigurationError
from fonds.wiring.backends import open_backend

for port, scheme, extra in {WITH_EXTRAS!r}:
    try:
        open_backend(port, f"{{scheme}}://127.0.0.1:1/fonds", Path({str(tmp_path)!r}))
    except ConfigurationError as error:
        print(port, scheme, error)
"""
    output = run_without_extras(script)
    for port, scheme, extra in WITH_EXTRAS:
        (line,) = (text for text in output.splitlines() if text.startswith(f"{port} {scheme} "))
        assert line.endswith(f": pip install 'fonds[{extra}]'"), line
    assert "Traceback" not in output


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_doctor_names_the_missing_extra_of_a_search_server(scheme: str, tmp_path: Path) -> None:
    script = "from fonds.cli.main import main\nmain()"
    words = ["--home", str(tmp_path), "--set", f"index={scheme}://127.0.0.1:1/x", "doctor"]
    output = run_without_extras(script, *words)
    assert f"pip install 'fonds[{scheme}]'" in " ".join(output.split())
    assert "Traceback" not in output
