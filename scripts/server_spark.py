"""A standalone Spark cluster of one master and two workers, from the PySpark package."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

from server import Server
from serving import find_java, install_packages, spawn

LOCK = Path(__file__).parents[1] / "requirements" / "spark.txt"
WORKERS = 2
CORES, MEMORY = 1, "1g"
HOST = "127.0.0.1"
LOG4J = """
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
"""


def install(folder: Path) -> None:
    """Install PySpark into the environment of the tests, so that driver and executors have one version."""
    install_packages({"/usr/bin/java": "openjdk-17-jre-headless"})
    if importlib.util.find_spec("pyspark") is not None:
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", "--require-hashes", "-r", str(LOCK)],
        capture_output=True,
        check=False,
        timeout=900,
    )
    if done.returncode:
        raise RuntimeError(f"pip failed: {done.stderr.decode()[-500:]}")


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    conf = folder / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "log4j2.properties").write_text(LOG4J)
    bound = ["--host", HOST, "--webui-port", str(port + 1)]
    command = _build_command("master.Master", *bound, "--port", str(port))
    environment = _build_environment(conf)
    processes = [spawn(command, folder / "master.log", environment)]
    for number in range(WORKERS):
        place = folder / f"worker-{number}"
        place.mkdir(exist_ok=True)
        options = ["--cores", str(CORES), "--memory", MEMORY, "--work-dir", str(place)]
        ports = ["--host", HOST, "--webui-port", str(port + 2 + number)]
        command = _build_command("worker.Worker", *options, *ports, build_url(folder, port))
        processes.append(spawn(command, folder / f"worker-{number}.log", environment))
    return processes


def _build_command(name: str, *words: str) -> list[str]:
    """Return the command that Spark's shell script would run."""
    jars = _find_home() / "jars"
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    return [
        *(str(find_java()), "-Xmx256m", "-XX:+IgnoreUnrecognizedVMOptions", *opened),
        *("-cp", f"{jars.parent}/conf:{jars}/*", f"org.apache.spark.deploy.{name}", *words),
    ]


OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)


def _build_environment(conf: Path) -> dict[str, str]:
    return {
        "SPARK_HOME": str(_find_home()),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_PUBLIC_DNS": HOST,
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(find_java().resolve().parents[1]),
        "PATH": os.environ.get("PATH", ""),
    }


def _find_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeError("pyspark is not installed")
    return Path(spec.origin).parent


def is_ready(folder: Path, port: int) -> bool:
    """Tell whether the master has registered both workers."""
    try:
        with socket.create_connection((HOST, port), 2):
            text = (folder / "master.log").read_text("utf-8", "replace")
    except OSError:
        return False
    return text.rpartition("Starting Spark master")[2].count("Registering worker") >= WORKERS


def build_url(folder: Path, port: int) -> str:
    return f"spark://{HOST}:{port}"


SERVER = Server("spark", 27077, "TEST_SPARK_URL", install, start, is_ready, build_url)
