"""Elasticsearch 9, the plain distribution of Maven Central, for the tests only."""

from __future__ import annotations

import subprocess
from pathlib import Path

from searching import HEAP, find_new_java, is_answering, run, unpack
from server import Server


def install(folder: Path) -> None:
    find_new_java()
    unpack("org.elasticsearch.distribution.integ-test-zip", "elasticsearch", "9.2.0", folder)


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    settings = {
        "cluster.name": "fonds-tests",
        "network.host": "127.0.0.1",
        "http.port": port,
        "transport.port": port + 1,
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "xpack.security.enabled": False,
        "indexing_pressure.memory.limit": "40%",
    }
    environment = {
        "ES_JAVA_HOME": str(find_new_java()),
        "ES_PATH_CONF": str(folder / "conf"),
        "ES_JAVA_OPTS": HEAP,
        "ES_TMPDIR": str(folder / "tmp"),
    }
    return run(folder, "elasticsearch", settings, environment)


def is_ready(folder: Path, port: int) -> bool:
    return is_answering(port)


def build_url(folder: Path, port: int) -> str:
    return f"elasticsearch://127.0.0.1:{port}/fonds"


SERVER = Server(
    "elasticsearch", 29200, "TEST_ELASTICSEARCH_URL", install, start, is_ready, build_url
)
