"""Each remedy that the audit names is carried out: from a damaged home to a clean audit, on each store
and queue, within a time limit."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from obstore.store import LocalStore, S3Store

from deployments import create_deployment, variables
from e2e.running import CommandResult, fonds
from e2e.states import state
from fonds.audit.audit import run_audit
from fonds.audit.bodies import DeepAudit
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.config import Settings, load_settings
from fonds.grouping.columns import Column
from fonds.grouping.names import parse
from fonds.grouping.tables import COLLECTIONS
from fonds.model.archive import Blob
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.rows import CdxRow
from fonds.papers.catalog.store import TITLE
from fonds.ports import Stores
from fonds.wiring.catalog import find_catalog
from fonds.wiring.collections import find_collection_writer
from fonds.wiring.pipeline_names import list_used_readers
from fonds.wiring.stores import close_stores, get_utc_now, open_stores
from journeys.material import write_catalogue
from made_warcs import page
from sample import write_sample

REPAIR_MAX_S = 300.0
"""Longest time that one repair may take. It takes seconds; only one that hangs takes so long."""
PARTS = ("outcomes", "files", "pdfs", "stories", "captures", "documents", "indexed", "table")
RESTORED_PARTS = (*PARTS, "blobs")
REMOVED_PAGE = page(4_000)
TESTED_ELSEWHERE = {
    AuditCheck.RECORDS_EMPTIED: "tests/e2e/test_damages.py: nothing restores the records",
    AuditCheck.UNSETTLED: "tests/servers/test_lost_messages.py, tests/e2e/test_repaired_links.py",
}


@dataclass(frozen=True)
class Home:
    """A home, and ways to damage its stores. `servers` has the settings of those on servers."""

    path: Path
    servers: dict[str, str]

    @property
    def collection(self) -> str:
        """Name of its collection. Homes on servers share the tables of collections."""
        return f"{self.servers.get('env', 'test')}/story"

    def run(self, *words: str | Path) -> CommandResult:
        return fonds(self.path, *words, wait_s=REPAIR_MAX_S, **variables(self.servers))

    @property
    def settings(self) -> Settings:
        return load_settings(self.path).replace_values(**self.servers)

    @contextmanager
    def open(self) -> Iterator[Stores]:
        stores = open_stores(self.path, self.settings)
        try:
            yield stores
        finally:
            close_stores(stores)

    def sql(self, statement: str) -> list[Any]:
        """Run SQL without the ports. Fail if it neither returns nor changes a row."""
        engine = sa.create_engine(self._build_records_url(), poolclass=sa.NullPool)
        with engine.begin() as connection:
            result = connection.execute(sa.text(statement))
            rows = list(result) if result.returns_rows else []
            assert rows or result.rowcount > 0, statement
        return rows

    def _build_records_url(self) -> str:
        url = self.servers.get("records", f"sqlite:///{self.path / 'records.sqlite'}")
        return url.replace("postgresql://", "postgresql+psycopg://")

    def get_value(self, statement: str) -> str:
        return str(self.sql(statement)[0][0])

    @property
    def pdf(self) -> str:
        return self.get_value(
            "select sha1hex from pdf_meta where has_page0_thumbnail and word_count > 0"
            " order by sha1hex"
        )

    def get_page(self, number: int) -> str:
        """Return the SHA-1 of a page that has one capture, in a WARC of the crawl."""
        return self.get_value(
            "select sha1hex from cdx where mimetype = 'text/html' and warc_path like 'crawl/%'"
            " and sha1hex in (select sha1hex from story_meta)"
            " group by sha1hex having count(*) = 1"
            f" order by sha1hex limit 1 offset {number}"
        )

    def get_entry(self, number: int) -> str:
        return self.get_value(
            f"select capture_id from file_meta where sha1hex = '{self.get_page(number)}'"
        )

    @property
    def archive(self) -> LocalStore | S3Store:
        """The folder or bucket of the archive."""
        url = self.servers.get("archive")
        if url is None:
            return LocalStore(self.path / "archive")
        parts, options = urlsplit(url), parse_qs(urlsplit(url).query)
        name, _, prefix = parts.path.strip("/").partition("/")
        return S3Store(
            name,
            prefix=prefix,
            endpoint=f"{options['scheme'][0]}://{parts.hostname}:{parts.port}",
            access_key_id=parts.username,
            secret_access_key=parts.password,
            region=options["region"][0],
            client_options={"allow_http": True},
        )

    def read_archive(self) -> dict[str, bytes]:
        objects = [item["path"] for part in self.archive.list() for item in part]
        return {path: bytes(self.archive.get(path).bytes()) for path in objects}

    def alter_archive(self, ending: str, change: Callable[[bytes], bytes]) -> None:
        """Overwrite the largest object of the archive with this ending."""
        objects = {
            path: data for path, data in self.read_archive().items() if path.endswith(ending)
        }
        largest = max(objects, key=lambda path: len(objects[path]))
        self.archive.put(largest, change(objects[largest]))

    def remove_blob(self, key: str) -> None:
        with self.open() as stores:
            assert stores.blobs.filter_existing([key]) == {key}
            stores.blobs.delete([key])

    def reverse_text(self, sha1hex: str) -> None:
        key = build_text_blob_key(sha1hex)
        with self.open() as stores:
            stores.blobs.put([Blob(key, stores.blobs.get(key)[::-1], "text/plain")])

    def remove_row(self, number: int) -> None:
        with self.open() as stores:
            stores.table.delete(stores.journal, [bytes.fromhex(self.get_page(number))])

    def remove_document(self, key: str) -> None:
        with self.open() as stores:
            assert stores.index.get([key])
            stores.index.delete([key])

    def lose_quarantined_messages(self) -> None:
        count = 0
        with self.open() as stores:
            for readers in list_used_readers(stores.records, stores.queue, self.settings).values():
                for reader in readers:
                    while deliveries := stores.queue.receive(reader.quarantine, 100, 1.0):
                        count += len(deliveries)
                        stores.queue.settle(deliveries)
        assert count > 1

    def change_collection_size(self) -> None:
        with self.open() as stores:
            writer = find_collection_writer(stores, self.settings)
            assert writer is not None
            writer.tables.put(COLLECTIONS, [(parse(self.collection).row, {Column.SIZE: b"7"})])

    def find_faults(self, *, deep: bool) -> list[AuditFault]:
        with self.open() as stores:
            if deep:
                DeepAudit(stores, get_utc_now, lambda: False).run(None, lambda _: None)
            readers = list_used_readers(stores.records, stores.queue, self.settings)
            writer = find_collection_writer(stores, self.settings)
            catalog = find_catalog(stores, self.settings) if deep else None
            return run_audit(stores, readers, collection_writer=writer, catalog=catalog).faults


@dataclass(frozen=True)
class Harm:
    """A damage, the check of the audit that finds it, and a part of its message."""

    name: str
    act: Callable[[Home], object]
    check: AuditCheck
    fault: str


def flip_middle(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


def set_verdict(home: Home, number: int, step: str, verdict: str, reason: str) -> None:
    home.sql(
        f"update dispositions set verdict = '{verdict}', reason = '{reason}'"
        f" where step = '{step}' and entry_id = '{home.get_entry(number)}'"
    )
    with home.open() as stores:
        stores.ledger.recount(repair=True)


def repeat_capture(home: Home, number: int) -> None:
    """Add a second row of `cdx` for one capture."""
    columns = [column.name for column in fields(CdxRow)]
    values = ", ".join("'other/news.warc.gz'" if name == "warc_path" else name for name in columns)
    home.sql(
        f"insert into cdx ({', '.join(columns)}) select {values} from cdx"
        f" where sha1hex = '{home.get_page(number)}'"
    )


STORES = (
    Harm(
        "row of a PDF",
        lambda home: home.sql(f"delete from pdf_meta where sha1hex = '{home.pdf}'"),
        AuditCheck.ROW,
        "pdf_meta does not",
    ),
    Harm(
        "row of a story",
        lambda home: home.sql(
            f"update story_meta set article_title = 'x' where sha1hex = '{home.get_page(0)}'"
        ),
        AuditCheck.ROW,
        "has changed since it was written",
    ),
    Harm(
        "count",
        lambda home: home.sql(
            "update tallies set count = count + 1 where counted = 'entries' and first = 'done'"
        ),
        AuditCheck.COUNT,
        "were counted",
    ),
    Harm(
        "row of the table",
        lambda home: home.remove_row(1),
        AuditCheck.CELLS,
        "has no row in the table",
    ),
    Harm(
        "text",
        lambda home: home.remove_blob(build_text_blob_key(home.pdf)),
        AuditCheck.BLOB,
        "is missing",
    ),
    Harm(
        "picture",
        lambda home: home.remove_blob(build_thumbnail_blob_key(home.pdf)),
        AuditCheck.BLOB,
        "is missing",
    ),
    Harm(
        "document",
        lambda home: home.remove_document(home.pdf),
        AuditCheck.DOCUMENT,
        "is missing from the index",
    ),
    Harm(
        "CDXJ",
        lambda home: home.alter_archive(".cdxj", lambda data: b""),
        AuditCheck.CDXJ,
        "of its records",
    ),
    Harm(
        "WARC",
        lambda home: home.alter_archive(".gz", lambda data: data[: len(data) // 2]),
        AuditCheck.BODY,
        "ends at byte",
    ),
    Harm("collection", Home.change_collection_size, AuditCheck.COLLECTION, "its size is 7"),
)
CONTENTS = (
    Harm(
        "WARC",
        lambda home: home.alter_archive(".gz", flip_middle),
        AuditCheck.BODY,
        "cannot read file",
    ),
    Harm(
        "text",
        lambda home: home.reverse_text(home.get_page(0)),
        AuditCheck.BLOB,
        "has changed since it was written",
    ),
)
LEDGER = (
    Harm(
        "entry",
        lambda home: home.sql(f"delete from entries where entry_id = '{home.get_entry(0)}'"),
        AuditCheck.ENTRY,
        "is not in the ledger",
    ),
    Harm(
        "count of an input",
        lambda home: home.sql("update inputs set entries = entries + 1 where path like '%/cut.%'"),
        AuditCheck.INPUT_COUNT,
        "entries were read",
    ),
    Harm(
        "input",
        lambda home: home.sql("delete from inputs where path like '%/captures.cdx'"),
        AuditCheck.INPUT_ROW,
        "is missing from the ledger but has",
    ),
    Harm(
        "verdict of a step with results",
        lambda home: set_verdict(home, 1, "identify", "dropped", "no-text"),
        AuditCheck.WAY,
        "but went on",
    ),
    Harm(
        "verdict of a stored page",
        lambda home: set_verdict(home, 2, "import_story", "dropped", "not-wanted"),
        AuditCheck.ENDING,
        "import_story is not done with it",
    ),
    Harm(
        "second row of a capture",
        lambda home: repeat_capture(home, 3),
        AuditCheck.CAPTURE_TWICE,
        "has 2 rows",
    ),
    Harm(
        "row of a capture",
        lambda home: home.sql(f"delete from cdx where sha1hex = '{home.get_page(4)}'"),
        AuditCheck.PLACE,
        "cdx has no such row",
    ),
    Harm(
        "hash of a file",
        lambda home: home.sql(
            f"update file_meta set sha256hex = '{'0' * 64}' where sha1hex = '{home.get_page(5)}'"
        ),
        AuditCheck.FILE,
        "differ in sha256",
    ),
    Harm(
        "type of a capture",
        lambda home: home.sql(
            f"update cdx set mimetype = 'text/plain' where sha1hex = '{home.get_page(6)}'"
        ),
        AuditCheck.CAPTURE,
        "text/plain",
    ),
    Harm(
        "quarantine",
        Home.lose_quarantined_messages,
        AuditCheck.QUARANTINE,
        "missing from the quarantine",
    ),
)
ROUNDS = {"stores": STORES, "contents": CONTENTS, "ledger": LEDGER}


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("rabbitmq opensearch", marks=pytest.mark.servers),
        pytest.param("kafka elasticsearch", marks=[pytest.mark.servers, pytest.mark.nightly]),
    ],
)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Home]:
    """A home with the sample crawl, a collection, a key and a page that was taken down."""
    root = tmp_path_factory.mktemp("repaired")
    write_sample(root / "crawl")
    (root / "crawl" / "removed.html").write_bytes(REMOVED_PAGE)
    with ExitStack() as stack:
        settings: dict[str, str] = {}
        if request.param != "embedded":
            settings = stack.enter_context(create_deployment(*request.param.split(), {}))
            bucket, _, options = settings["blobs"].partition("?")
            settings["archive"] = f"{bucket}-archive?{options}"
        home = Home(root / "home", settings)
        result = home.run("ingest", "--json", "--workers=1", root / "crawl")
        assert result.last["pending"] == 0, result.err
        for words in (
            ["collection", "create", home.collection, "--query", "kind:story"],
            ["group", home.collection],
            ["keys", "create", "anne", "--role", "reader"],
        ):
            assert home.run(*words).code == 0
        yield home


def load_restored_parts(home: Home) -> dict[str, Any]:
    """Return the part of the state that a repair must restore. Places of files read again may differ."""
    full_state = state(home.path, **home.servers)
    for row in full_state["stories"]:
        for part in ("rss_entry", "http_metadata"):
            row["story"].pop(part)
    return {part: full_state[part] for part in RESTORED_PARTS}


def list_missing(harms: tuple[Harm, ...], faults: list[AuditFault]) -> list[str]:
    """Return the names of the harms that no fault shows."""
    return [
        harm.name
        for harm in harms
        if not any(fault.check is harm.check and harm.fault in fault.message for fault in faults)
    ]


@pytest.mark.parametrize("name", ROUNDS)
def test_damage_is_reported_and_repaired(home: Home, name: str) -> None:
    """All damages of a round at once: the audit reports each, and repair restores the home."""
    harms, deep = ROUNDS[name], name == "contents"
    undamaged = load_restored_parts(home)
    for harm in harms:
        harm.act(home)
    faults = home.find_faults(deep=deep)
    assert list_missing(harms, faults) == [], faults
    started = time.monotonic()
    result = home.run("repair", "--yes", *(["--deep"] if deep else []))
    took_s = time.monotonic() - started
    sys.stdout.write(f"{name}: {len(faults)} faults repaired in {took_s:.1f} s\n")
    assert result.code == 0, result.out + result.err
    restored = load_restored_parts(home)
    for part in RESTORED_PARTS:
        assert restored[part] == undamaged[part], part
    assert home.find_faults(deep=True) == []


def test_a_changed_row_of_a_sealed_table_can_be_accepted(home: Home) -> None:
    home.sql("update access_keys set role = 'administrator' where name = 'anne'")
    (fault,) = home.find_faults(deep=False)
    assert (fault.check, fault.subject) == (AuditCheck.SEAL, "access_keys")
    assert home.run("repair", "--yes").code == 1
    assert home.run("repair", "--accept", fault.subject, "--yes").code == 0
    assert home.find_faults(deep=False) == []


def test_a_changed_rule_of_a_collection_can_be_accepted(home: Home) -> None:
    with home.open() as stores:
        writer = find_collection_writer(stores, home.settings)
        assert writer is not None
        writer.tables.put(COLLECTIONS, [(parse(home.collection).row, {Column.QUERY: b"kind:pdf"})])
    (fault,) = home.find_faults(deep=False)
    assert (fault.check, fault.subject) == (AuditCheck.COLLECTION_ROW, home.collection)
    assert home.run("repair", "--yes").code == 1
    assert home.run("repair", "--accept", "collections", "--yes").code == 0
    assert home.find_faults(deep=False) == []


def test_an_altered_catalogue_is_loaded_again(home: Home, tmp_path: Path) -> None:
    write_catalogue(tmp_path / "works")
    assert home.run("catalog", "load", tmp_path / "works").code == 0
    with home.open() as stores:
        catalog = find_catalog(stores, home.settings)
        assert catalog is not None
        stores.table.delete(
            catalog.name, [stores.table.scan(catalog.name, TITLE, count_max=1)[0][0]]
        )
    (fault,) = home.find_faults(deep=True)
    assert fault.check is AuditCheck.CATALOG
    assert home.run("catalog", "load", "--again", tmp_path / "works").code == 0
    assert home.find_faults(deep=True) == []


def test_the_record_of_a_removed_page_is_purged_from_a_restored_archive(home: Home) -> None:
    backup = home.read_archive()
    removed = sha1(REMOVED_PAGE).hexdigest()
    takedown = ("takedown", removed, "--reason", "privacy", "--yes")
    result = home.run(*takedown)
    assert result.code == 0, result.out + result.err
    for path, data in backup.items():
        home.archive.put(path, data)
    faults = home.find_faults(deep=False)
    assert {(fault.check, fault.subject) for fault in faults} == {(AuditCheck.TAKEN_DOWN, removed)}
    result = home.run(*takedown, "--everywhere")
    assert result.code == 0, result.out + result.err
    assert home.find_faults(deep=True) == []


def test_each_check_with_a_remedy_is_tested() -> None:
    tested = {harm.check for harms in ROUNDS.values() for harm in harms}
    tested |= {
        AuditCheck.SEAL,
        AuditCheck.COLLECTION_ROW,
        AuditCheck.CATALOG,
        AuditCheck.TAKEN_DOWN,
    }
    assert {*AuditCheck} - tested == {*TESTED_ELSEWHERE}
