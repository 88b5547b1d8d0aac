"""What a person may name as input: paths, `@list` files, `-`; and what is told when it is none of these."""

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
    """Return the files behind names: paths, URLs and `s3://BUCKET/PREFIX*`, as text.

    What comes on standard input is kept in the home's inbox. Paths inside a list may be missing: each then
    ends as a record of its own.
    Raises click.UsageError for a path that does not exist, a URL of another kind, and one with a password.
    """
    return [found for name in names for found in _expand_name(name, home)]


def resolve_paths(names: Sequence[str]) -> frozenset[str]:
    """Return the paths of this machine among names, as inputs below them are called."""
    paths = (one for one in names if not is_remote(one))
    return frozenset(os.path.abspath(one) for one in paths)  # noqa: PTH100 (links stay)


def check_warc_base(base: str | None) -> None:
    """Check the folder in --warc-base. Raises click.UsageError if there is no such folder."""
    if base and not URL.match(base) and not Path(base).expanduser().is_dir():
        raise click.UsageError(f"--warc-base {base}: no such folder")


@contextmanager
def open_named_file(name: str, app: App) -> Iterator[Path]:
    """The file a command reads: a path as it is, or what lies at a URL, fetched for as long as it is read.

    Raises click.UsageError for a URL that cannot be used, ConfigurationError for what cannot be had.
    """
    if not URL.match(name):
        yield Path(name)
        return
    from fonds.wiring.pipelines import fetch_file  # the readers of all formats

    with fetch_file(_name_remote_file(name), app.home, app.load_settings()) as path:
        yield path


def report_unread(problems: Sequence[str], code: int) -> int:
    """Tell which inputs could not be read to their end; the exit code, 1 at least if there are any."""
    for problem in problems:
        print_note(problem)
    return max(code, int(bool(problems)))


def _expand_name(name: str, home: Path) -> Iterator[str]:
    if name == "-":
        yield str(save_stream(sys.stdin.buffer, home / "inbox"))
    elif URL.match(name):
        yield _name_remote_file(name)
    elif name.startswith("@") and not Path(name).exists():
        for listed in _iter_listed(Path(name[1:])):
            yield _name_remote_file(listed) if URL.match(listed) else listed
    elif not Path(name).exists() and not Path(name).is_symlink():
        raise click.UsageError(f"{name}: no such file or folder")
    else:
        yield name


def _name_remote_file(url: str) -> str:
    shown = redact_secrets(url)
    if shown != url:
        raise click.UsageError(
            f"{shown}: a user and password stand in a setting (sources.logins, elsewhere.s3_url)"
        )
    if not is_remote(url):
        raise click.UsageError(f"{shown}: only http, https and s3 URLs can be read")
    return url


def _iter_listed(path: Path) -> Iterator[str]:
    """What a list names, one a line; empty lines and those that begin with # are left out."""
    try:
        if path.stat().st_size > LIST_MAX_BYTES:
            raise click.UsageError(f"{path}: a list may have {LIST_MAX_BYTES} bytes at most")
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"the list {path} cannot be read: {cause_of(error)}") from error
    for line in lines:
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def save_stream(stream: BinaryIO, inbox: Path) -> Path:
    """Keep what comes on a stream as a file named by its SHA-1, so that it can be read again."""
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
