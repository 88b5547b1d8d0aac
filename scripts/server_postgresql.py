"""PostgreSQL 15 from Debian, with a separate cluster."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path

import psycopg

from server import Server
from serving import give_to_user, install_packages, spawn

BIN = Path("/usr/lib/postgresql/15/bin")
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
}


def install(folder: Path) -> None:
    install_packages({str(BIN / "initdb"): "postgresql-15"})
    data = folder / "data"
    if data.exists():
        return
    folder.chmod(0o755)
    password = folder / "password"
    password.write_text(secrets.token_urlsafe(16))
    owner = give_to_user("postgres", data)
    give_to_user("postgres", password.parent)
    flags = ["--auth=scram-sha-256", "--username=fonds", f"--pwfile={password}"]
    command = [BIN / "initdb", "-D", data, "-E", "UTF8", "--locale=C.UTF-8", *flags]
    done = subprocess.run([*owner, *map(str, command)], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"initdb failed: {done.stderr.decode()[-500:]}")
    password.chmod(0o600)


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    flags = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
    command = [str(BIN / "postgres"), "-D", str(folder / "data"), "-p", str(port), *flags]
    return [spawn([*give_to_user("postgres", folder / "data"), *command], folder / "server.log")]


def is_ready(folder: Path, port: int) -> bool:
    try:
        psycopg.connect(build_url(folder, port), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def build_url(folder: Path, port: int) -> str:
    password = (folder / "password").read_text()
    return f"postgresql://fonds:{password}@127.0.0.1:{port}/postgres"


SERVER = Server("postgresql", 25432, "TEST_POSTGRESQL_URL", install, start, is_ready, build_url)
