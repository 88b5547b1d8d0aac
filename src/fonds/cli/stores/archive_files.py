"""The WARC files a command means: the archive opened alone, and what was named of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click

from fonds.cli.context import App
from fonds.model.errors import ConfigurationError
from fonds.model.names import no_such
from fonds.ports import WarcArchive

ENDINGS = (
    ".warc",
    ".arc",
    ".warc.gz",
    ".arc.gz",
    ".warc.zst",
    ".warc.lz4",
    ".warc.bz2",
    ".warc.xz",
)


def open_files(app: App, *, must_be_there: bool = True) -> WarcArchive:
    """The archive alone: no other store need be there."""
    from fonds.ports.closing import close
    from fonds.wiring.backends import open_archive

    if must_be_there:
        app.must_be_there()
    files = open_archive(app.home, app.settings())
    click.get_current_context().call_on_close(partial(close, files))
    return files


def named_files(files: WarcArchive, names: Sequence[str]) -> Iterator[str]:
    """The names given, or all there are. Raises ConfigurationError for a WARC that is not ours."""
    if not names:
        yield from files.names()
        return
    for word in names:
        name = word.rpartition("/")[2]
        if files.held(name) is None:
            raise ConfigurationError(
                f"{word} is no file here, and {no_such('WARC of ours', name, files.names())}"
            )
        yield name


def chosen_files(files: WarcArchive, paths: Sequence[str]) -> Iterator[str]:
    """The names of ours and the absolute paths of others that are meant."""
    if not paths:
        yield from files.names()
    for word in paths:
        path = Path(word)
        if path.is_dir():
            found = (one for one in path.rglob("*") if one.name.lower().endswith(ENDINGS))
            yield from (str(one.absolute()) for one in sorted(found) if one.is_file())
        elif path.exists():
            yield str(path.absolute())
        else:
            yield from named_files(files, [word])
