"""Collections made, given a rule, and removed with all they hold."""

from __future__ import annotations

from fonds.collections.changing.writing import Changes, clear
from fonds.collections.names import Name, checked
from fonds.collections.tables import COLLECTION_SIZE, COLLECTIONS, REMOVED, is_there, utf8
from fonds.formats.grouping.keys import parts_of_collection

QUERY = "main:query"
TEMPLATE = "main:template"
QUERY_CHARACTERS_MAX = 4000


def create(changes: Changes, name: Name, query: str = "", template: str = "") -> bool:
    """Make a collection, or give one that is there another rule; whether it was not there before.

    `query`: the search whose documents it takes in, '' where others put them. `template`: the field whose
    values have a collection each instead, '' for one collection. Raises ValueError for a name that is none
    or a query of over 4,000 characters.
    """
    checked(name)
    if len(query) > QUERY_CHARACTERS_MAX:
        raise ValueError(f"a query has at most {QUERY_CHARACTERS_MAX:,} characters")
    with changes.held(name, long=True) as held:
        is_new = not is_there(held.cells)
        if is_new:
            clear(changes.tables, name)
        cells = {
            "main:namespace": utf8(name.namespace),
            "main:collection_key": utf8(name.key),
            QUERY: utf8(query),
            TEMPLATE: utf8(template),
        }
        if is_new:
            cells[COLLECTION_SIZE] = b"0"
        changes.claims.check(held.claim)
        changes.tables.put(COLLECTIONS, [(name.row, cells)])
    return is_new


def remove(changes: Changes, name: Name) -> bool:
    """Remove a collection with its documents and clusterings; whether it was there.

    From the first write on nobody sees it; who dies meanwhile has it finished by the sweep.
    """
    with changes.held(name, long=True) as held:
        if not held.cells:
            return False
        changes.tables.put(COLLECTIONS, [(name.row, {REMOVED: b"1"})])
        clear(changes.tables, name)
    return True


def finish_removals(changes: Changes) -> int:
    """Remove what is left of collections whose removal was begun; how many."""
    marked = [
        Name(*parts_of_collection(row))
        for row, _ in changes.tables.scan(COLLECTIONS, b"", [REMOVED])
    ]
    for name in marked:
        remove(changes, name)
    return len(marked)
