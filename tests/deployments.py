"""Settings of homes whose stores are on servers, each with its own databases and names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from real_servers import PrivateServer, url_of

Servers = Mapping[str, PrivateServer]


def _url(name: str, private_servers: Servers) -> str:
    return (
        private_servers[name].url if name in private_servers else url_of(f"TEST_{name.upper()}_URL")
    )


@contextmanager
def create_deployment(queue: str, index: str, private_servers: Servers) -> Iterator[dict[str, str]]:
    """Create the settings of a home on servers.

    `private_servers` are the test's own servers by name; all others are shared. `queue` is
    `rabbitmq` or `kafka`, `index` is `opensearch` or `elasticsearch`.
    """
    name = f"t{os.urandom(5).hex()}"
    server = _url("postgresql", private_servers)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    bucket, _, options = _url("s3", private_servers).partition("?")
    yield {
        # The first capture of a body to arrive owns it; one partition keeps their order.
        "queue": _url(queue, private_servers) + ("?partitions=1" if queue == "kafka" else ""),
        "table": _url("hbase", private_servers),
        "records": f"{server.rpartition('/')[0]}/{name}",
        "blobs": f"{bucket}/{name}?{options}",
        "index": f"{_url(index, private_servers).rpartition('/')[0]}/{name}",
        "env": name,
    }
    if "postgresql" not in private_servers:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as environment variables."""
    return {f"FONDS_{name.upper()}": value for name, value in settings.items()}
