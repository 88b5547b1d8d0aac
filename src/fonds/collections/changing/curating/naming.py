"""Themes named and pinned by people, by the ids that stay over rebuilds; the machine's labels stay."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace

from fonds.collections.changing.redo import Writes, perform
from fonds.collections.changing.writing import Changes, Held
from fonds.collections.names import Name
from fonds.collections.reading.clusters import clusters
from fonds.collections.reading.curated import CURATED_MAX, Curated, curated
from fonds.collections.tables import THEMES, utf8
from fonds.formats.grouping.keys import theme_row
from fonds.model.names import no_such

NAME_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A theme as it is meant: by its id, with the label it has, or had when it was decided about."""

    id: str
    label: str


def rename(changes: Changes, name: Name, conf: str, theme: str, wanted: str) -> Curated:
    """Give a theme a name, '' to take it back; done twice it is as done once. What is decided about the theme
    then.

    `theme`: id, label or name. Raises ValueError with a sentence: for a theme there is not, a name of over
    200 characters or of none that can be seen, and where 1,000 themes are named or pinned.
    """
    said = checked_name(wanted)
    with changes.held(name) as held:
        now, one = changes.now(), _decided(changes, held, conf, theme)
        named = now if said else None
        if said == one.name:
            return one
        return _put(changes, held, conf, replace(one, name=said, named=named))


def pin(changes: Changes, name: Name, conf: str, theme: str, *, pinned: bool = True) -> Curated:
    """Have a theme stand before the others, or no longer; done twice it is as done once. Raises ValueError as
    `rename`."""
    with changes.held(name) as held:
        one = _decided(changes, held, conf, theme)
        if pinned is (one.pinned is not None):
            return one
        return _put(changes, held, conf, replace(one, pinned=changes.now() if pinned else None))


def checked_name(wanted: str) -> str:
    """A name on one line, without blanks around it. Raises ValueError."""
    said = " ".join(wanted.split())
    if len(said) > NAME_CHARACTERS_MAX:
        raise ValueError(f"a theme's name has at most {NAME_CHARACTERS_MAX} characters")
    unseen = [one for one in said if unicodedata.category(one) in ("Cc", "Cs")]
    if unseen or (said and not any(one.isalnum() for one in said)):
        raise ValueError("a theme's name has letters or digits and no control characters")
    return said


def theme_called(changes: Changes, name: Name, conf: str, theme: str) -> Found:
    """The theme of the first level of what is served, by id, label or name, or one that is gone and was
    decided about, by id. Raises ValueError that names the nearest."""
    served = clusters(changes.tables, name, conf, top=0)
    there = served.clusters if served else ()
    for said in ("id", "label", "name"):
        found = [one for one in there if theme and getattr(one, said) == theme]
        if len(found) > 1:
            raise ValueError(f"{len(found)} themes have the name {theme!r}: name one by its id")
        if found:
            return Found(found[0].id, found[0].label)
    gone = curated(changes.tables, name, conf).get(theme)
    if gone is None:
        raise ValueError(no_such("theme", theme[:200], [one.label for one in there]))
    return Found(gone.id, gone.label)


def _decided(changes: Changes, held: Held, conf: str, theme: str) -> Curated:
    found = theme_called(changes, held.name, conf, theme)
    known = curated(changes.tables, held.name, conf).get(found.id)
    if known is None:
        return Curated(found.id, found.label, "", None, None)
    return replace(known, label=found.label)


def _put(changes: Changes, held: Held, conf: str, one: Curated) -> Curated:
    name = held.name
    row = theme_row(name.namespace, name.key, conf, one.id)
    known = curated(changes.tables, name, conf)
    if one.id not in known and len(known) >= CURATED_MAX:
        raise ValueError(f"at most {CURATED_MAX:,} themes of {name} may be named or pinned")
    writes = Writes()
    if one.name or one.pinned is not None:
        cells = {
            "main:id": utf8(one.id),
            "main:label": utf8(one.label),
            "main:name": utf8(one.name),
            "main:named": b"" if one.named is None else utf8(one.named),
            "main:pinned": b"" if one.pinned is None else utf8(one.pinned),
        }
        writes.put(THEMES, row, cells)
    else:
        writes.remove(THEMES, row)
    perform(changes.tables, name, held.cells, [], writes, changes.claims, held.claim)
    return one
