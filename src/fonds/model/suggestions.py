"""Names out of closed lists, as people give them: which was probably meant, and what to say of the rest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LIKENESS_MIN = 0.5
LISTED_NAMES_MAX = 40


class UnknownNameError(ValueError):
    """A name that is not in a closed list, in a sentence for people without its full stop.

    `field` says which part of an identity it is, `find_nearest_name` which known name was probably meant.
    """

    def __init__(self, field: str, what: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        super().__init__(format_unknown_name(what, name, names))
        self.field = field
        self.nearest = find_nearest_name(name, names)


def find_nearest_name(name: str, known_names: Iterable[str]) -> str | None:
    """The known name most like this one, in any case of letters; None when none is like it."""
    folded = {one.casefold(): str(one) for one in known_names if one}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=LIKENESS_MIN)
    return folded[found[0]] if found else None


def alternatives(names: Iterable[str]) -> str:
    """Return names as a choice for people, such as "pdf, story or jats"."""
    *others, last = map(str, names)
    return f"{', '.join(others)} or {last}" if others else last


def format_unknown_name(noun: str, name: str, known_names: Iterable[str]) -> str:
    """A sentence for people without its full stop: there is no `noun` of this name, but these, and which is
    nearest. Of more than 40 only as many are named, and how many there are.
    """
    names = list(dict.fromkeys(str(one) for one in known_names if one))
    between = "; " if any("," in one for one in names) else ", "
    shown = between.join(names[:LISTED_NAMES_MAX])
    more = f" and {len(names) - LISTED_NAMES_MAX:,} more" if len(names) > LISTED_NAMES_MAX else ""
    there_are = f"; there are {shown}{more}" if names else "; there is none at all"
    near = find_nearest_name(name, names)
    return f"there is no {noun} {name!r}{there_are}" + (f"; did you mean {near!r}?" if near else "")
