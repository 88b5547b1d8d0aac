"""Homes whose stores are on servers: the settings of each, with databases and names of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from real_servers import PrivateServer, url_of

Servers = Mapping[str, PrivateServer]


def _url(name: str, own: Servers) -> str:
    return own[name].url if name in own else url_of(f"TEST_{name.upper()}_URL")


@contextmanager
def deployed(queue: str, index: str, own: Servers) -> Iterator[dict[str, str]]:
    """The settings of a home on servers; those in `own` are the test's, the others everybody's.

    `queue` is `rabbitmq` or `kafka`, `index` is `opensearch` or `elasticsearch`.
    """
    name = f"t{os.urandom(5).hex()}"
    server = _url("postgresql", own)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    bucket, _, options = _url("s3", own).partition("?")
    yield {
        # Of several captures of one body the first to arrive owns it; one partition keeps their order.
        "queue": _url(queue, own) + ("?partitions=1" if queue == "kafka" else ""),
        "table": _url("hbase", own),
        "records": f"{server.rpartition('/')[0]}/{name}",
        "blobs": f"{bucket}/{name}?{options}",
        "index": f"{_url(index, own).rpartition('/')[0]}/{name}",
        "env": name,
    }
    if "postgresql" not in own:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def variables(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings as the environment carries them."""
    return {f"FONDS_{name.upper()}": value for name, value in settings.items()}
