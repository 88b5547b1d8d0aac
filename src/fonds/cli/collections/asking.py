"""The collection, configuration and documents a command names; what is none is told with the nearest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from fonds.collections import configurations
from fonds.collections.documents import Document, checked_document
from fonds.collections.names import Name, parse
from fonds.collections.reading.clusterings import Collection, collection, collections
from fonds.model.errors import LimitError
from fonds.model.names import no_such

if TYPE_CHECKING:
    from fonds.collections.tables import Tables

LINE_BYTES_MAX = 32 * 1024 * 1024
NAMES_MAX = 10_000


@contextmanager
def usage() -> Iterator[None]:
    """What is said to be none becomes an error of usage."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def named(text: str) -> Name:
    """The collection a word names. Raises click.UsageError."""
    with usage():
        return parse(text)


def there(tables: Tables, text: str) -> Collection:
    """The collection of this name. Raises click.UsageError that names the nearest where there is none."""
    found = collection(tables, named(text))
    if found is None:
        names = [
            str(one.name) for one, _ in zip(collections(tables), range(NAMES_MAX), strict=False)
        ]
        raise click.UsageError(no_such("collection", text, names))
    return found


def built(tables: Tables, found: Collection, conf: str) -> str:
    """The configuration. Raises click.UsageError where there is no clustering by it."""
    confs = [one.conf for one in found.served]
    if conf not in confs:
        with usage():
            configurations.get(tables, found.name.namespace, conf)
        raise click.UsageError(
            f"{found.name} was not grouped by {conf} yet: `fonds group {found.name} --conf {conf}`"
        )
    return conf


def read_lines(stream: BinaryIO, name: str) -> Iterator[Document | str]:
    """Documents out of JSON lines, or what is wrong with a line, in words."""
    import msgspec

    from fonds.model.prepared import prepared

    decoder = msgspec.json.Decoder(prepared(Document))
    number = 0
    while line := stream.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(line) > LINE_BYTES_MAX:
            yield f"{name}: line {number} has over {LINE_BYTES_MAX:,} bytes; nothing behind it is read"
            return
        if not line.strip():
            continue
        try:
            yield checked_document(decoder.decode(line))
        except (msgspec.DecodeError, ValueError, LimitError) as error:
            yield f"{name}: line {number}: {error}"
