"""The backends that every contract suite runs against; add one with a line below.

A backend is opened by a function of a folder and a name, both new for each test. Backends on this
machine use the folder. Backends on servers, which outlive the tests, use the name.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import URL, Engine

from empty_records import copy_empty_records
from fixtures import rabbit_cleanup
from fixtures.archives import BACKENDS as ARCHIVES
from fonds.ports import WarcArchive
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.blobs import FolderBlobs
from fonds.stores.local_blobs import LocalBlobs
from fonds.stores.records.engine import open_engine
from fonds.stores.records.sql import SqlRecords
from fonds.stores.split_blobs import SplitBlobs
from fonds.stores.table.sqlite import SqliteTable
from real_servers import backend_params

POSTGRESQL_URL = os.environ.get("TEST_POSTGRESQL_URL", "")
"""A database in which the suites may create schemas; without it, PostgreSQL is skipped."""


RABBITMQ_URL = os.environ.get("TEST_RABBITMQ_URL", "")
HBASE_URL = os.environ.get("TEST_HBASE_URL", "")
KAFKA_URL = os.environ.get("TEST_KAFKA_URL", "")
S3_URL = os.environ.get("TEST_S3_URL", "")


def _create_schema(_: Path, name: str) -> URL:
    """Create a schema on the server of TEST_POSTGRESQL_URL, and return the URL of records in it."""
    url = sa.make_url(POSTGRESQL_URL).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {name}"))
    engine.dispose()
    return url.update_query_dict({"options": f"-csearch_path={name}"})


Opener = Callable[[Path, str], Any]


def _open_with_large_bodies(folder: Path, _: str) -> LargeBodies:
    """Open a queue that stores bodies of more than three bytes as blobs."""
    return LargeBodies(
        SqliteQueue(folder / "queue.sqlite"),
        FolderBlobs(folder / "bodies"),
        BodyLimits(3, 16_000_000),
    )


QUEUES: dict[str, Opener] = {
    "sqlite": lambda folder, _: SqliteQueue(folder / "queue.sqlite"),
    "large-bodies": _open_with_large_bodies,
}
if RABBITMQ_URL:
    from fonds.queues.rabbit.queue import RabbitQueue

    QUEUES["rabbitmq"] = lambda _, __: RabbitQueue(RABBITMQ_URL)
    QUEUES["rabbitmq-quorum"] = lambda _, __: RabbitQueue(f"{RABBITMQ_URL}?quorum=1")
if KAFKA_URL:
    from fonds.queues.kafka.queue import KafkaQueue

    QUEUES["kafka"] = lambda _, __: KafkaQueue(f"{KAFKA_URL}?partitions=3")
TABLES: dict[str, Opener] = {"sqlite": lambda folder, _: SqliteTable(folder / "table.sqlite")}
if HBASE_URL:
    from fonds.stores.table.hbase import HbaseTable

    TABLES["hbase"] = lambda _, __: HbaseTable(HBASE_URL)
BLOBS: dict[str, Opener] = {
    "folder": lambda folder, _: FolderBlobs(folder / "blobs"),
    "local": lambda folder, _: LocalBlobs(folder / "blobs"),
    "split": lambda folder, name: SplitBlobs(
        FolderBlobs(folder / "blobs"), FolderBlobs(folder / "split"), f"{name}/a"
    ),
}
if S3_URL:
    from fonds.stores.s3.blobs import S3Blobs

    BLOBS["s3"] = lambda _, __: S3Blobs(S3_URL)
RECORDS_URLS: dict[str, Callable[[Path, str], URL]] = {
    "sqlite": lambda folder, _: URL.create("sqlite", database=str(folder / "records.sqlite")),
    **({"postgresql": _create_schema} if POSTGRESQL_URL else {}),
}


@pytest.fixture
def name() -> str:
    """A unique name for this test and run."""
    return f"t{secrets.token_hex(6)}"


@pytest.fixture
def open_backend(tmp_path: Path, name: str) -> Iterator[Callable[[Opener], Any]]:
    """Open backends, all at the same location, and close them after the test."""
    with ExitStack() as stack:

        def open_one(opener: Opener) -> Any:
            backend = opener(tmp_path, name)
            stack.callback(_close, backend)
            return backend

        yield open_one


def _close(backend: Any) -> None:
    if type(backend).__name__ == "RabbitQueue":
        rabbit_cleanup.close_queue(backend)
    else:
        getattr(backend, "close", lambda: None)()


@pytest.fixture(params=backend_params(QUEUES))
def open_queue(
    request: pytest.FixtureRequest, open_backend: Callable[[Opener], Any]
) -> Callable[[], Any]:
    """Each call opens the same queue again, as another process would."""
    return lambda: open_backend(QUEUES[request.param])


@pytest.fixture
def queue(open_queue: Callable[[], Any]) -> Any:
    return open_queue()


@pytest.fixture(params=backend_params(TABLES))
def open_tables(
    request: pytest.FixtureRequest, open_backend: Callable[[Opener], Any]
) -> Callable[[], Any]:
    return lambda: open_backend(TABLES[request.param])


@pytest.fixture(params=backend_params(RECORDS_URLS))
def records_url(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> URL:
    return RECORDS_URLS[request.param](tmp_path, name)


@pytest.fixture
def open_records(
    records_url: URL, open_backend: Callable[[Opener], Any]
) -> Callable[[], SqlRecords]:
    return lambda: open_backend(lambda _, __: SqlRecords(records_url))


@pytest.fixture
def records_engine(records_url: URL) -> Iterator[Engine]:
    """Connections of our own to the database of the records."""
    engine = open_engine(records_url)
    yield engine
    engine.dispose()


@pytest.fixture
def records(
    open_records: Callable[[], SqlRecords], records_engine: Engine, name: str, tmp_path: Path
) -> Iterator[SqlRecords]:
    copy_empty_records(tmp_path / "records.sqlite")
    yield open_records()
    if records_engine.dialect.name == "postgresql":
        with records_engine.begin() as connection:
            connection.execute(sa.text(f"DROP SCHEMA {name} CASCADE"))


@pytest.fixture(params=backend_params(BLOBS))
def blobs(request: pytest.FixtureRequest, open_backend: Callable[[Opener], Any]) -> Any:
    return open_backend(BLOBS[request.param])


@pytest.fixture(params=backend_params(ARCHIVES))
def open_archive(request: pytest.FixtureRequest) -> Callable[[Path], WarcArchive]:
    """Open the archive of a home."""
    return ARCHIVES[request.param]


@pytest.fixture
def archive(open_archive: Callable[[Path], WarcArchive], tmp_path: Path) -> Iterator[WarcArchive]:
    store = open_archive(tmp_path)
    yield store
    store.finish()
