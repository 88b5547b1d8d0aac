"""Packages, owners and processes of the servers."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

APT_LOCK = Path("/tmp/fonds-servers-apt.lock")


def install_packages(by_file: Mapping[str, str]) -> None:
    """Install the Debian packages whose file is missing. Raises RuntimeError if that fails."""
    missing = [package for path, package in by_file.items() if not Path(path).exists()]
    if not missing:
        return
    if os.geteuid() != 0:
        raise RuntimeError(f"install the Debian packages {' '.join(missing)}, or run this as root")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with APT_LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (
            ["apt-get", "update", "-qq"],
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing],
        ):
            done = subprocess.run(command, capture_output=True, env=environment, check=False)
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.decode()[-500:]}")


def give_to_user(user: str, *folders: Path) -> list[str]:
    """Give the folders to the user; return the command prefix that runs a command as this user."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam(user)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    return ["setpriv", f"--reuid={user}", f"--regid={account.pw_gid}", "--clear-groups"]


def spawn(
    command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a new session, with its output in `log`."""
    with log.open("ab") as out:
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=log.parent,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )


def find_java() -> Path:
    """Return the path of Java. Raises RuntimeError if there is none."""
    path = shutil.which("java")
    if path is None:
        raise RuntimeError("there is no java: install openjdk-17-jre-headless")
    return Path(path)


def fetch_jars(pom: Path, folder: Path) -> Path:
    """Return the folder with all dependencies of a Maven project. They are fetched once."""
    jars = folder / "lib"
    mark = folder / "lib.complete"
    if mark.exists() and mark.read_text() == pom.read_text():
        return jars
    install_packages({"/usr/bin/mvn": "maven", "/usr/bin/java": "openjdk-17-jre-headless"})
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={jars}"], capture_output=True, check=False, timeout=900
    )
    if done.returncode:
        raise RuntimeError(f"Maven failed: {(done.stdout + done.stderr).decode()[-800:]}")
    mark.write_text(pom.read_text())
    return jars
