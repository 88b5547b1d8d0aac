"""Table of storage backends by URL scheme. Open one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fonds.config import PORTS, Settings
from fonds.model.errors import ConfigurationError
from fonds.model.optional_libraries import build_missing_extra_error
from fonds.model.secrets import redact_secrets
from fonds.model.suggestions import format_unknown_name


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """Backend of one URL scheme.

    - `opener`: module and name of the callable that opens the backend.
    - `is_below_home`: whether the URL is a path below the library folder (home). The callable then
      receives that path instead of the URL.
    - `is_shared`: whether several processes on any machine may use the backend at the same time.
    - `is_exclusive`: whether only one process may use the backend, because other processes cannot
      see the data of that process.
    - `extra`: the optional dependency group (extra) that installs the library of the backend.
    """

    opener: str
    is_below_home: bool = False
    is_shared: bool = True
    is_exclusive: bool = False
    extra: str = ""


BLOBS = {
    "local": BackendSpec(
        "fonds.stores.local_blobs:LocalBlobs", is_below_home=True, is_shared=False
    ),
    "file": BackendSpec("fonds.stores.blobs:FolderBlobs", is_below_home=True),
    "s3": BackendSpec("fonds.stores.s3.blobs:S3Blobs", extra="s3"),
}
BACKENDS: dict[str, dict[str, BackendSpec]] = {
    "queue": {
        "sqlite": BackendSpec(
            "fonds.queues.sqlite:SqliteQueue", is_below_home=True, is_shared=False
        ),
        "amqp": BackendSpec("fonds.queues.rabbit.queue:RabbitQueue", extra="rabbitmq"),
        "amqps": BackendSpec("fonds.queues.rabbit.queue:RabbitQueue", extra="rabbitmq"),
        "kafka": BackendSpec("fonds.queues.kafka.queue:KafkaQueue", extra="kafka"),
    },
    "table": {
        "sqlite": BackendSpec(
            "fonds.stores.table.sqlite:SqliteTable", is_below_home=True, is_shared=False
        ),
        "hbase": BackendSpec("fonds.stores.table.hbase:HbaseTable", extra="hbase"),
    },
    "records": {
        "sqlite": BackendSpec(
            "fonds.stores.records.sql:open_sqlite", is_below_home=True, is_shared=False
        ),
        "postgresql": BackendSpec("fonds.stores.records.sql:SqlRecords", extra="postgresql"),
    },
    "blobs": BLOBS,
    "thumbnails": BLOBS,
    "index": {
        "tantivy": BackendSpec(
            "fonds.search.index.tantivy_index:TantivyIndex", is_below_home=True, is_shared=False
        ),
        "elasticsearch": BackendSpec(
            "fonds.search.index.elastic_index:open_elasticsearch", extra="elasticsearch"
        ),
        "opensearch": BackendSpec(
            "fonds.search.index.elastic_index:open_opensearch", extra="opensearch"
        ),
    },
    "archive": {
        "file": BackendSpec("fonds.archive.store.folder:FolderArchive", is_below_home=True),
        "s3": BackendSpec("fonds.archive.store.s3:S3Archive", extra="s3"),
    },
    "s3_url": {"s3": BackendSpec("fonds.stores.s3.objects:S3Objects", extra="s3")},
}


def open_backend(port: str, url: str, home: Path, *options: object) -> Any:
    """Open the backend of a store by its URL.

    `port`: name of the store, such as `queue` or `records`.
    `options`: further arguments, passed to the backend after the URL.

    Raises ConfigurationError for an unknown URL scheme, and if the library of the backend is not
    installed.
    """
    backend = find_backend(port, url)
    module, _, name = backend.opener.partition(":")
    try:
        opener: Callable[..., Any] = getattr(import_module(module), name)
        # Some modules import their library only when they are opened.
        return opener(home / url.partition(":")[2] if backend.is_below_home else url, *options)
    except ModuleNotFoundError as error:
        if not backend.extra:
            raise
        raise build_missing_extra_error(
            f"{port} = {redact_secrets(url)!r}", backend.extra, error.name
        ) from error


def find_backend(port: str, url: str) -> BackendSpec:
    """Return the backend for the URL of a store. Raises ConfigurationError for an unknown scheme.

    `port`: name of the store, such as `queue` or `records`.
    """
    scheme, backends = url.partition(":")[0], BACKENDS[port]
    if scheme not in backends:
        raise ConfigurationError(
            f"{port} = {redact_secrets(url)!r}: {format_unknown_name('backend', scheme, sorted(backends))}"
        )
    return backends[scheme]


def are_stores_shared(settings: Settings) -> bool:
    """Return whether several processes on any machine may use all configured stores at the same
    time.
    """
    return are_ports_shared(settings, PORTS)


def are_ports_shared(settings: Settings, ports: Iterable[str]) -> bool:
    """Return whether several processes on any machine may use these stores at the same time.

    `ports` are names of stores, such as `queue` or `records`.
    """
    return all(find_backend(port, getattr(settings, port)).is_shared for port in ports)
