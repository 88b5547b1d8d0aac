"""Parse the collection, configuration and document arguments of a command.

Errors about unknown names suggest the nearest known name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from fonds.grouping import configuration
from fonds.grouping.document import Document, validate_document
from fonds.grouping.names import CollectionName, parse
from fonds.grouping.views.clusterings import CollectionView, find_collection, iter_collections
from fonds.model.encoding import prepare_type
from fonds.model.errors import LimitError
from fonds.model.suggestions import format_unknown_name

if TYPE_CHECKING:
    from fonds.grouping.tables import Tables

LINE_MAX_BYTES = 32 * 1024 * 1024
NAMES_MAX = 10_000


@contextmanager
def convert_usage_errors() -> Iterator[None]:
    """Context manager that raises click.UsageError for a ValueError within it, with the same
    message.
    """
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def parse_name(text: str) -> CollectionName:
    """Return the collection name that a user typed. Raises click.UsageError if it is invalid."""
    with convert_usage_errors():
        return parse(text)


def require_collection(tables: Tables, text: str) -> CollectionView:
    """Return the collection with the name `text`.

    Raises click.UsageError, which suggests the nearest name, if there is none.
    """
    view = find_collection(tables, parse_name(text))
    if view is None:
        names = [
            str(known_view.name)
            for known_view, _ in zip(iter_collections(tables), range(NAMES_MAX), strict=False)
        ]
        raise click.UsageError(format_unknown_name("collection", text, names))
    return view


def find_built_configuration(tables: Tables, collection: CollectionView, conf: str) -> str:
    """Return the configuration name `conf`, after checking that a clustering of the collection uses
    it.

    Raises click.UsageError if there is no such configuration, or no clustering that was built with
    it.
    """
    confs = [clustering.conf for clustering in collection.served]
    if conf not in confs:
        with convert_usage_errors():
            configuration.get(tables, collection.name.namespace, conf)
        raise click.UsageError(
            f"{collection.name} has no clustering by {conf}. Run `fonds group "
            f"{collection.name} --conf {conf}`."
        )
    return conf


def read_lines(stream: BinaryIO, name: str) -> Iterator[Document | str]:
    """Yield a document for each JSON line of a stream, or a message if the line is not a document.

    `name` is the name of the stream in messages. Stops at a line that is longer than 32 MiB.
    """
    decoder = msgspec.json.Decoder(prepare_type(Document))
    number = 0
    while line := stream.readline(LINE_MAX_BYTES + 1):
        number += 1
        if len(line) > LINE_MAX_BYTES:
            yield (
                f"{name}: line {number} is longer than {LINE_MAX_BYTES:,} bytes; the "
                "rest is not read"
            )
            return
        if not line.strip():
            continue
        try:
            yield validate_document(decoder.decode(line))
        except (msgspec.DecodeError, ValueError, LimitError) as error:
            yield f"{name}: line {number}: {error}"
