"""A home with collections in every state that the pages of themes show."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from filled_home import FilledHome, build_once, fill_home, open_home
from followed_home import fill_sources
from fonds.grouping.changes.lifecycle import create
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.search import SearchQuery
from fonds.ports import Stores
from kept_collections import Clock, themed_documents

FIVE = CollectionName("made", "five")
WAITING = CollectionName("made", "waiting")
EMPTY = CollectionName("made", "empty")
LIBRARY = CollectionName("library", "all")
HOSTILE = CollectionName("od<d>", "a/b%2F..~/<script>alert('key')</script>")
HOSTILE_ID = "<script>alert('id')</script>/..?&#%2F"
STRAY = "stray"
MONTH_S = 30 * 86_400
FIRST_TIME_S = 1_600_000_000


@build_once
def fill_themed(home: Path) -> None:
    """Put collections into the embedded stores of a home without documents."""
    with open_home(home) as stores:
        fill_themes(stores)


@build_once
def fill_with_themes(home: Path) -> FilledHome:
    """Put one of everything, collections and sources into the embedded stores of a home."""
    filled = fill_home(home)
    with open_home(home) as stores:
        fill_themes(stores)
        fill_sources(stores)
    return filled


def fill_themes(stores: Stores) -> CollectionWriter:
    """Put collections into stores, which may hold documents; return their writer.

    FIVE was grouped twice: of its five themes one is new, and one document is an outlier. LIBRARY
    has the documents of the index. HOSTILE has a name, ids, titles and words with markup.
    """
    writer = open_themes(stores)
    _fill_five(writer)
    _fill_library(writer, stores)
    _fill_hostile(writer)
    create(writer, EMPTY)
    create(writer, WAITING, query="kind:story")
    writer.put(WAITING, [Document("only", "The one document of a collection nobody grouped yet.")])
    return writer


def open_themes(stores: Stores, now_s: int = 1_790_000_000) -> CollectionWriter:
    """Open the collections in stores for changes.

    `now_s` is the time of the first change, in seconds since 1970.
    """
    tables = Tables(stores.table)
    tables.declare()
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    return CollectionWriter(tables, leases, Clock(now_s))


def fill_changed(stores: Stores) -> None:
    """Put two collections into empty stores.

    In `made/split` one theme of sixty documents became two. In `made/short` 25 documents are too
    short and 7 have no word.
    """
    writer = open_themes(stores)
    tables = writer.tables
    split_collection, short_collection = (
        CollectionName("made", "split"),
        CollectionName("made", "short"),
    )
    save_configuration(
        tables, "made", "DEFAULT", build_configuration({"clusters": 1, "characters_min": 12})
    )
    writer.put(split_collection, themed_documents(60, themes=2))
    rebuild(writer, split_collection)
    save_configuration(
        tables, "made", "DEFAULT", build_configuration({"clusters": 2, "characters_min": 12})
    )
    rebuild(writer, split_collection)
    writer.put(short_collection, themed_documents(40, themes=2))
    writer.put(short_collection, [Document(f"s{at}", "flood") for at in range(25)])
    writer.put(short_collection, [Document(f"e{at}", "?! ... -- ?! ... -- ?!") for at in range(7)])
    rebuild(writer, short_collection)


def _fill_five(writer: CollectionWriter) -> None:
    first_documents = [
        _set_time(document, at) for at, document in enumerate(themed_documents(120, themes=4))
    ]
    later_documents = [
        replace(_set_time(document, at), id=f"later{at}")
        for at, document in enumerate(themed_documents(130, seed=3, themes=5))
        if at % 5 == 0 or "parliament" in document.text
    ]
    save_configuration(
        writer.tables, FIVE.namespace, "DEFAULT", build_configuration({"clusters": 4})
    )
    writer.put(FIVE, first_documents)
    rebuild(writer, FIVE)
    save_configuration(
        writer.tables, FIVE.namespace, "DEFAULT", build_configuration({"clusters": 5})
    )
    writer.put(FIVE, later_documents)
    rebuild(writer, FIVE)
    save_configuration(
        writer.tables, FIVE.namespace, "tight", build_configuration({"algorithm": "stories"})
    )
    writer.put(FIVE, [Document(STRAY, "Zygote quasar xylem brontosaurus morning city.")])


def _set_time(document: Document, at: int) -> Document:
    time_s = None if at % 10 == 9 else FIRST_TIME_S + at % 7 * MONTH_S
    return replace(document, time=time_s, url=f"http://news.example/{document.id}")


def _fill_library(writer: CollectionWriter, stores: Stores) -> None:
    hits = stores.index.search(SearchQuery(count_max=50)).hits
    texts = themed_documents(max(40, len(hits)), seed=5, themes=2)
    library_documents = [
        replace(texts[at], id=hit.document.id, title=hit.document.article_title or "")
        for at, hit in enumerate(hits)
    ]
    writer.put(LIBRARY, [*library_documents, *texts[len(library_documents) :]])
    rebuild(writer, LIBRARY)


def _fill_hostile(writer: CollectionWriter) -> None:
    texts = themed_documents(40, seed=7, themes=2)
    hostile_text = "<script>alert('text')</script> \u202eevil &quot; </title>"
    documents = [
        replace(
            document,
            text=f"{hostile_text} {document.text}",
            title=f"{hostile_text} {at}",
            url="javascript:alert(1)",
        )
        for at, document in enumerate(texts)
    ]
    writer.put(HOSTILE, [replace(documents[0], id=HOSTILE_ID), *documents[1:]])
    rebuild(writer, HOSTILE)
