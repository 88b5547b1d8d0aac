"""A home with collections in every state the pages of themes have to show."""

from __future__ import annotations

import time
from dataclasses import replace

from fonds.collections.building.rebuilding import rebuild
from fonds.collections.changing.collections import create
from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims
from fonds.collections.configurations import configuration, put
from fonds.collections.documents import Document
from fonds.collections.names import Name
from fonds.collections.tables import Tables
from fonds.model.document import SearchQuery
from fonds.ports import Stores
from fonds.process_identity import this_process
from kept_collections import Clock, themed

FIVE = Name("made", "five")
WAITING = Name("made", "waiting")
EMPTY = Name("made", "empty")
LIBRARY = Name("library", "all")
HOSTILE = Name("od<d>", "a/b%2F..~/<script>alert('key')</script>")
HOSTILE_ID = "<script>alert('id')</script>/..?&#%2F"
STRAY = "stray"
MONTH_S = 30 * 86_400
BEGUN = 1_600_000_000


def fill_themes(stores: Stores) -> Changes:
    """Put collections into stores that may hold documents; what changes them further.

    FIVE was grouped twice: of its five themes one is new, and one document is an outlier. LIBRARY has the
    documents of the index. HOSTILE has a name, ids, titles and words that would break out of a page.
    """
    tables = Tables(stores.table)
    tables.declare()
    claims = Claims(stores.records, this_process(), time.monotonic)
    changes = Changes(tables, claims, Clock())
    _five(changes)
    _library(changes, stores)
    _hostile(changes)
    create(changes, EMPTY)
    create(changes, WAITING, query="kind:story")
    changes.put(WAITING, [Document("only", "The one document of a collection nobody grouped yet.")])
    return changes


def fill_changed(stores: Stores) -> None:
    """Put two collections into stores that hold nothing: in `made/split` one theme of sixty documents became
    two, in `made/short` 25 documents are too short and 7 have no word."""
    tables = Tables(stores.table)
    tables.declare()
    changes = Changes(tables, Claims(stores.records, this_process(), time.monotonic), Clock())
    split, short = Name("made", "split"), Name("made", "short")
    put(tables, "made", "DEFAULT", configuration({"clusters": 1, "characters_min": 12}))
    changes.put(split, themed(60, themes=2))
    rebuild(changes, split)
    put(tables, "made", "DEFAULT", configuration({"clusters": 2, "characters_min": 12}))
    rebuild(changes, split)
    changes.put(short, themed(40, themes=2))
    changes.put(short, [Document(f"s{at}", "flood") for at in range(25)])
    changes.put(short, [Document(f"e{at}", "?! ... -- ?! ... -- ?!") for at in range(7)])
    rebuild(changes, short)


def _five(changes: Changes) -> None:
    first = [_dated(one, at) for at, one in enumerate(themed(120, themes=4))]
    later = [
        replace(_dated(one, at), id=f"later{at}")
        for at, one in enumerate(themed(130, seed=3, themes=5))
        if at % 5 == 0 or "parliament" in one.text
    ]
    put(changes.tables, FIVE.namespace, "DEFAULT", configuration({"clusters": 4}))
    changes.put(FIVE, first)
    rebuild(changes, FIVE)
    put(changes.tables, FIVE.namespace, "DEFAULT", configuration({"clusters": 5}))
    changes.put(FIVE, later)
    rebuild(changes, FIVE)
    put(changes.tables, FIVE.namespace, "tight", configuration({"algorithm": "stories"}))
    changes.put(FIVE, [Document(STRAY, "Zygote quasar xylem brontosaurus morning city.")])


def _dated(one: Document, at: int) -> Document:
    when = None if at % 10 == 9 else BEGUN + at % 7 * MONTH_S
    return replace(one, time=when, url=f"http://news.example/{one.id}")


def _library(changes: Changes, stores: Stores) -> None:
    hits = stores.index.search(SearchQuery(count_max=50)).hits
    texts = themed(max(40, len(hits)), seed=5, themes=2)
    some = [
        replace(texts[at], id=hit.document.id, title=hit.document.article_title or "")
        for at, hit in enumerate(hits)
    ]
    changes.put(LIBRARY, [*some, *texts[len(some) :]])
    rebuild(changes, LIBRARY)


def _hostile(changes: Changes) -> None:
    texts = themed(40, seed=7, themes=2)
    bad = "<script>alert('text')</script> \u202eevil &quot; </title>"
    some = [
        replace(one, text=f"{bad} {one.text}", title=f"{bad} {at}", url="javascript:alert(1)")
        for at, one in enumerate(texts)
    ]
    changes.put(HOSTILE, [replace(some[0], id=HOSTILE_ID), *some[1:]])
    rebuild(changes, HOSTILE)
