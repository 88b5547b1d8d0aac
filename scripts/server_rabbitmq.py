"""RabbitMQ 3.10 from Debian, as a node that shares nothing with the node of the system."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import pika

from server import Server
from serving import install_packages, spawn

SERVER_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
CONFIGURATION = """
listeners.tcp.1 = 127.0.0.1:{port}
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 50MB
loopback_users.guest = true
log.console = true
log.console.level = warning
log.file = false
"""


def install(folder: Path) -> None:
    install_packages({str(SERVER_SCRIPT): "rabbitmq-server"})


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    (folder / "rabbitmq.conf").write_text(CONFIGURATION.format(port=port))
    (folder / "enabled_plugins").write_text("[].\n")
    environment = {
        "HOME": str(folder),
        "RABBITMQ_NODENAME": f"fonds{port}@localhost",
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_DIST_PORT": str(port + 1),
        "RABBITMQ_PID_FILE": str(folder / "rabbit.pid"),
        "ERL_EPMD_PORT": str(port + 2),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    return [spawn([SERVER_SCRIPT], folder / "server.log", environment)]


def is_ready(folder: Path, port: int) -> bool:
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    try:
        pika.BlockingConnection(pika.URLParameters(build_url(folder, port))).close()
    except (pika.exceptions.AMQPError, OSError):
        return False
    return True


def build_url(folder: Path, port: int) -> str:
    return f"amqp://guest:guest@127.0.0.1:{port}/%2F"


SERVER = Server("rabbitmq", 25672, "TEST_RABBITMQ_URL", install, start, is_ready, build_url)
