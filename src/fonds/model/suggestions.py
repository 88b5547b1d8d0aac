"""Suggestions for names that are not in a list of known names: find the nearest name, and list the
choices.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SIMILARITY_MIN = 0.5
LISTED_NAMES_MAX = 40


class UnknownNameError(ValueError):
    """Error for a name that is not in a list of known names. The message is a sentence without its
    full stop.

    - `field`: name of the field or parameter that contains the name.
    - `nearest`: known name that was probably meant; None if none is similar.
    """

    def __init__(self, field: str, noun: str, name: str, known_names: Iterable[str]) -> None:
        names = list(known_names)
        super().__init__(format_unknown_name(noun, name, names))
        self.field = field
        self.nearest = find_nearest_name(name, names)


def find_nearest_name(name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`; None if none is similar.

    Case does not matter.
    """
    folded_names = {
        known_name.casefold(): str(known_name) for known_name in known_names if known_name
    }
    matches = difflib.get_close_matches(name.casefold(), folded_names, n=1, cutoff=SIMILARITY_MIN)
    return folded_names[matches[0]] if matches else None


def format_alternatives(names: Iterable[str]) -> str:
    """Return names as a choice for people, such as "pdf, story or jats"."""
    *other_names, last_name = map(str, names)
    return f"{', '.join(other_names)} or {last_name}" if other_names else last_name


def format_unknown_name(noun: str, name: str, known_names: Iterable[str]) -> str:
    """Return a sentence, without its full stop, that says that a name is unknown.

    `noun` says what the name should refer to, such as "collection". The sentence lists at most 40
    known names, the number of further names, and the most similar known name.
    """
    names = list(dict.fromkeys(str(known_name) for known_name in known_names if known_name))
    separator = "; " if any("," in known_name for known_name in names) else ", "
    listed_names = separator.join(names[:LISTED_NAMES_MAX])
    more_text = (
        f" and {len(names) - LISTED_NAMES_MAX:,} more" if len(names) > LISTED_NAMES_MAX else ""
    )
    choices = f". Known: {listed_names}{more_text}" if names else ". None exist yet"
    nearest = find_nearest_name(name, names)
    return f"no {noun} named {name!r}{choices}" + (
        f". Did you mean {nearest!r}?" if nearest else ""
    )
