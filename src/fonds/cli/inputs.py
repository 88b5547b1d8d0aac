"""Expand and validate the inputs that commands accept: paths, URLs, `@list` files and `-`."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from fonds.cli.context import App, print_note
from fonds.ingest.sources.remote_files import (
    is_remote,
)
from fonds.model.errors import cause_of
from fonds.model.secrets import redact_secrets

URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
CHUNK_BYTES = 1024 * 1024
LIST_MAX_BYTES = 256 * 1024 * 1024


def expand_names(names: Sequence[str], home: Path) -> list[str]:
    """Return the paths, URLs and `s3://BUCKET/PREFIX*` of input arguments, as text.

    `@FILE` is replaced by the lines of a list file. `-` is replaced by a copy of standard input in
    the home's inbox. Paths in a list may be missing: each then becomes a record with an error.
    Raises click.UsageError for a path that does not exist, a URL of an unsupported scheme, and a
    URL with a password.
    """
    return [path for name in names for path in _expand_name(name, home)]


def resolve_paths(names: Sequence[str]) -> frozenset[str]:
    """Return the local paths among the input names as absolute paths, without resolving symbolic
    links.

    The rows of `inputs` have paths in this form.
    """
    paths = (name for name in names if not is_remote(name))
    return frozenset(os.path.abspath(name) for name in paths)  # noqa: PTH100 (links stay)


def check_warc_base(base: str | None) -> None:
    """Check the folder or URL in --warc-base. Raises click.UsageError if the folder does not
    exist.
    """
    if base and not URL.match(base) and not Path(base).expanduser().is_dir():
        raise click.UsageError(f"--warc-base {base}: no such folder")


@contextmanager
def open_named_file(name: str, app: App) -> Iterator[Path]:
    """Context manager that yields the local path of a file argument.

    A file at a URL is downloaded, and removed afterwards. Raises click.UsageError for an
    unsupported URL, and ConfigurationError if the download fails.
    """
    if not URL.match(name):
        yield Path(name)
        return
    from fonds.wiring.pipelines import fetch_file  # the readers of all formats

    with fetch_file(_name_remote_file(name), app.home, app.load_settings()) as path:
        yield path


def report_unread(problems: Sequence[str], code: int) -> int:
    """Print messages about inputs that could not be read completely.

    Return the exit code: `code`, but at least 1 if there are any problems.
    """
    for problem in problems:
        print_note(problem)
    return max(code, int(bool(problems)))


def _expand_name(name: str, home: Path) -> Iterator[str]:
    if name == "-":
        yield str(save_stream(sys.stdin.buffer, home / "inbox"))
    elif URL.match(name):
        yield _name_remote_file(name)
    elif name.startswith("@") and not Path(name).exists():
        for item in _iter_listed(Path(name[1:])):
            yield _name_remote_file(item) if URL.match(item) else item
    elif not Path(name).exists() and not Path(name).is_symlink():
        raise click.UsageError(f"{name}: no such file or folder")
    else:
        yield name


def _name_remote_file(url: str) -> str:
    safe_url = redact_secrets(url)
    if safe_url != url:
        raise click.UsageError(
            f"{safe_url}: put the user and password into a setting (sources.logins, "
            "elsewhere.s3_url), not into the URL"
        )
    if not is_remote(url):
        raise click.UsageError(f"{safe_url}: only http, https and s3 URLs are supported")
    return url


def _iter_listed(path: Path) -> Iterator[str]:
    """Yield the paths or URLs in a list file. Empty lines and lines that begin with # are skipped.

    Raises click.UsageError if the file cannot be read or is too large.
    """
    try:
        if path.stat().st_size > LIST_MAX_BYTES:
            raise click.UsageError(f"{path}: a list can have at most {LIST_MAX_BYTES} bytes")
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"Cannot read the list {path}: {cause_of(error)}") from error
    for line in lines:
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def save_stream(stream: BinaryIO, inbox: Path) -> Path:
    """Save a stream in a file in the folder `inbox`, so that its content can be read again.

    The SHA-1 of the content is in the file name. Return the path of the file.
    """
    inbox.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha1()  # noqa: S324 (a name, not a seal)
    with tempfile.NamedTemporaryFile(dir=inbox, delete=False) as partial:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
            partial.write(chunk)
    target = inbox / f"stdin-{digest.hexdigest()}"
    if target.exists():
        Path(partial.name).unlink()
    else:
        Path(partial.name).replace(target)
    return target
