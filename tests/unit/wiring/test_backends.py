"""What the settings name is what is opened: by URL, below the home or not, shared or alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.archives import entry
from fonds.audit.repair.cleanup import raise_if_emptied
from fonds.config import PORTS, Settings
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.wiring import stores as backends
from fonds.wiring.stores import (
    BACKENDS,
    BackendSpec,
    are_stores_shared,
    close_stores,
    list_concurrent_stages,
    list_readers,
    open_archive,
    open_stores,
)

ON_SERVERS = Settings(
    queue="kafka://host",
    table="hbase://host",
    records="postgresql://host/fonds",
    blobs="s3://bucket",
    index="opensearch://host",
)


def test_the_defaults_are_of_one_process() -> None:
    assert not are_stores_shared(Settings())


def test_servers_and_folders_are_shared() -> None:
    assert are_stores_shared(ON_SERVERS)
    assert are_stores_shared(ON_SERVERS.replace_values(blobs="file:/shared/blobs"))


@pytest.mark.parametrize("port", ["queue", "table", "records", "index"])
def test_one_store_of_one_process_is_enough_to_work_alone(port: str) -> None:
    kept = getattr(Settings(), port)
    assert not are_stores_shared(ON_SERVERS.replace_values(**{port: kept}))


def test_whether_a_store_is_shared_is_not_where_its_url_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that lies in memory has no path below the home, and is nobody else's all the same."""
    monkeypatch.setitem(BACKENDS["blobs"], "memory", BackendSpec("nowhere:Blobs", is_shared=False))
    assert not are_stores_shared(ON_SERVERS.replace_values(blobs="memory:"))


@pytest.mark.parametrize("port", PORTS)
def test_a_scheme_nobody_knows_is_told_with_those_there_are(port: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no backend named .gopher.. Known: [a-z]"
    ) as told:
        backends.open_backend(port, "gopher://key:hidden@host", tmp_path)
    assert "hidden" not in str(told.value)


@pytest.mark.parametrize("where", ["archive", "deep/below/warcs", "/absolute"])
def test_the_archive_lies_where_the_settings_say(where: str, tmp_path: Path) -> None:
    place = f"{tmp_path}{where}" if where.startswith("/") else where
    archive = open_archive(tmp_path / "home", Settings(archive=f"file:{place}"))
    folder = tmp_path / "home" / place
    assert not folder.exists()
    (one,) = archive.write([entry()])
    assert (folder / one.place.path).is_file()


def test_several_processes_work_all_but_what_writes_an_index_of_one_writer() -> None:
    embedded = list_concurrent_stages(Settings())
    assert {"identify", "parse_story", "archive_body"} <= set(embedded)
    assert not {"import_story", "persist_pdf_text"} & set(embedded)
    assert "import_story" in list_concurrent_stages(ON_SERVERS)


def test_nobody_works_beside_who_keeps_a_store_for_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = BackendSpec("nowhere:Blobs", is_shared=False, is_exclusive=True)
    monkeypatch.setitem(BACKENDS["blobs"], "memory", alone)
    assert list_concurrent_stages(Settings(blobs="memory:")) == []


def test_an_index_that_is_away_keeps_nobody_from_entering_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = open_stores(tmp_path, Settings())

    def away(index: object) -> int:
        raise StoreUnavailableError("the index does not answer")

    monkeypatch.setattr(type(stores.index), "count", away)
    raise_if_emptied(stores)
    stores.table.put(stores.journal, [(b"\x01" * 20, {"file:size": b"5"})])
    with pytest.raises(ConfigurationError, match="the records contain no files"):
        raise_if_emptied(stores)
    close_stores(stores)


def test_table_and_topics_have_groups_of_their_own(tmp_path: Path) -> None:
    """Both names are the seeds': one home has the table of one group and the topics of another."""
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
    alone = {reader.topic for reader in list_readers(settings.replace_values(topic_group=""))}
    assert {one.partition(".")[0] for one in alone} == {"wbgrp-prod"}


WITHOUT_EXTRAS = """
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
    (port, scheme, found.extra)
    for port, schemes in BACKENDS.items()
    for scheme, found in schemes.items()
    if found.extra
]


def without_extras(script: str, *words: str) -> str:
    """What a process prints in which no library of an extra can be imported."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS.format(libraries=LIBRARIES) + script, *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return ran.stdout + ran.stderr


def test_each_backend_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from fonds.model.errors import ConfigurationError
from fonds.wiring.stores import open_backend

for port, scheme, extra in {WITH_EXTRAS!r}:
    try:
        open_backend(port, f"{{scheme}}://127.0.0.1:1/fonds", Path({str(tmp_path)!r}))
    except ConfigurationError as error:
        print(port, scheme, error)
"""
    told = without_extras(script)
    for port, scheme, extra in WITH_EXTRAS:
        (line,) = (one for one in told.splitlines() if one.startswith(f"{port} {scheme} "))
        assert line.endswith(f": pip install 'fonds[{extra}]'"), line
    assert "Traceback" not in told


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_doctor_names_the_missing_extra_of_a_search_server(scheme: str, tmp_path: Path) -> None:
    script = "from fonds.cli.main import main\nmain()"
    words = ["--home", str(tmp_path), "--set", f"index={scheme}://127.0.0.1:1/x", "doctor"]
    told = without_extras(script, *words)
    assert f"pip install 'fonds[{scheme}]'" in " ".join(told.split())
    assert "Traceback" not in told
