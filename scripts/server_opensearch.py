"""OpenSearch 3, the plain distribution of Maven Central: no security, no plugins."""

from __future__ import annotations

import subprocess
from pathlib import Path

from searching import HEAP, find_new_java, is_answering, run, unpack
from server import Server


def install(folder: Path) -> None:
    find_new_java()
    unpack("org.opensearch.distribution.integ-test-zip", "opensearch", "3.4.0", folder)


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    settings = {
        "cluster.name": "fonds-tests",
        "network.host": "127.0.0.1",
        "http.port": port,
        "transport.port": port + 1,
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "bootstrap.memory_lock": False,
    }
    environment = {
        "OPENSEARCH_JAVA_HOME": str(find_new_java()),
        "OPENSEARCH_PATH_CONF": str(folder / "conf"),
        "OPENSEARCH_JAVA_OPTS": HEAP,
        "OPENSEARCH_TMPDIR": str(folder / "tmp"),
    }
    return run(folder, "opensearch", settings, environment)


def is_ready(folder: Path, port: int) -> bool:
    return is_answering(port)


def build_url(folder: Path, port: int) -> str:
    return f"opensearch://127.0.0.1:{port}/fonds"


SERVER = Server("opensearch", 29210, "TEST_OPENSEARCH_URL", install, start, is_ready, build_url)
