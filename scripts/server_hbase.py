"""HBase 2.6 in one process with its ZooKeeper, and its Thrift server, with the jars of Maven Central."""

from __future__ import annotations

import socket
import struct
import subprocess
from pathlib import Path

from server import Server
from serving import fetch_jars, find_java, spawn

POM = Path(__file__).parent / "maven" / "hbase.xml"
SNAPPY = "org.apache.hadoop.hbase.io.compress.aircompressor.SnappyCodec"
"""Snappy without native code."""
CELL_MAX_BYTES = 64 * 1024 * 1024
MASTER, REGION, ZOOKEEPER = 1, 2, 3
SITE = """<?xml version="1.0"?>
<configuration>
{properties}
</configuration>
"""
OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
)
LOG4J = """
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def install(folder: Path) -> None:
    fetch_jars(POM, folder)


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    conf = folder / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "hbase-site.xml").write_text(_build_site(folder, port))
    (conf / "log4j2.properties").write_text(LOG4J)
    words = [
        str(find_java()),
        "-Xmx1g",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
        "-cp",
        f"{conf}:{folder / 'lib'}/*",
    ]
    master = spawn(
        [*words, "org.apache.hadoop.hbase.master.HMaster", "start"], folder / "master.log"
    )
    thrift = "org.apache.hadoop.hbase.thrift.ThriftServer"
    words[1] = "-Xmx256m"
    bound = ["--bind", "127.0.0.1", "-p", str(port)]
    server = spawn([*words, thrift, *bound, "start"], folder / "thrift.log")
    return [master, server]


def _build_site(folder: Path, port: int) -> str:
    values = {
        "hbase.rootdir": f"file://{folder / 'data'}",
        "hbase.zookeeper.property.dataDir": folder / "zookeeper",
        "hbase.zookeeper.property.clientPort": port + ZOOKEEPER,
        "hbase.zookeeper.quorum": "127.0.0.1",
        "hbase.tmp.dir": folder / "tmp",
        "hbase.cluster.distributed": "false",
        "hbase.unsafe.stream.capability.enforce": "false",
        # Otherwise each family of each leftover test table uses 2 MB.
        "hbase.hregion.memstore.mslab.enabled": "false",
        "hbase.wal.provider": "filesystem",
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        "hbase.master.ipc.address": "127.0.0.1",
        "hbase.regionserver.ipc.address": "127.0.0.1",
        "hbase.master.port": port + MASTER,
        "hbase.regionserver.port": port + REGION,
        "hbase.master.info.port": -1,
        "hbase.regionserver.info.port": -1,
        "hbase.thrift.info.port": -1,
        "hbase.client.keyvalue.maxsize": CELL_MAX_BYTES,
        "hbase.server.keyvalue.maxsize": CELL_MAX_BYTES,
        "hbase.thrift.server.socket.read.timeout": 600_000,
        "hbase.client.retries.number": 6,
        "hbase.procedure.store.region.hsync": "false",
        "hbase.master.wait.on.regionservers.maxtostart": 1,
        "hbase.master.start.wait.for.namespacemanager": "true",
        "hbase.regionserver.handler.count": 10,
        "hbase.io.compress.snappy.codec": SNAPPY,
    }
    return SITE.format(
        properties="\n".join(
            f"  <property><name>{name}</name><value>{value}</value></property>"
            for name, value in values.items()
        )
    )


def is_ready(folder: Path, port: int) -> bool:
    """Tell whether the server answers a Thrift call for its table names without an error."""
    name = b"getTableNames"
    call = struct.pack(">II", 0x80010001, len(name)) + name + struct.pack(">IB", 1, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as connection:
            connection.settimeout(5)
            connection.sendall(call)
            answer = connection.recv(64)
            # After the echo of the name comes field 0 (the result) or field 1 (an error).
            place = 8 + len(name) + 4
            return (
                answer[:4] == b"\x80\x01\x00\x02" and answer[place : place + 3] == b"\x0f\x00\x00"
            )
    except OSError:
        return False


def build_url(folder: Path, port: int) -> str:
    return f"hbase://127.0.0.1:{port}"


SERVER = Server("hbase", 28090, "TEST_HBASE_URL", install, start, is_ready, build_url)
