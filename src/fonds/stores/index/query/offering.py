"""What may come next in a search: fields, and values of a field out of what can be found, with counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.model.completing import Completing, Completion, Typed, Typing
from fonds.stores.index.query.completing import completed, fields_named, typed, written
from fonds.stores.index.query.fields import form_of, short_name
from fonds.stores.index.query.values import Known, Library, counted, matching, values

COMPLETIONS_MAX = 10
COUNTED_LATE = frozenset({"author", "holder", "license", "prefers"})
"""The fields whose values are found in some documents first, and then counted in all."""


@dataclass(frozen=True, slots=True)
class Offering:
    """The port Completes, over an index and the themes there are; searches have `chars_max` at most."""

    library: Library
    chars_max: int

    def complete(self, text: str, at: int | None = None) -> Completing:
        """Raises ValueError for a place outside of the text."""
        one = typed(text, at)
        if one.kind is Typing.NOTHING:
            return Completing(one, (), False, None, None)
        if one.kind is Typing.VALUE:
            return self._of_values(text, one)
        named = fields_named(one.said)
        fields = [(Known(name, form_of(name)[0], None), f"{name}:") for name in named]
        return Completing(one, self._put(text, one, fields), False, None, None)

    def instead(self, text: str, at: int) -> Completing | None:
        """Each of them finds documents by itself."""
        found = self.complete(text, at)
        one = found.typed
        said = one.said.strip().casefold()
        if one.kind is not Typing.VALUE:
            return None
        if any(said == of.value.casefold() for of in found.completions):
            return None
        if said and not found.completions:
            found = self._of_values(text, replace(one, said=""))
        there = [of for of in found.completions if of.count]
        return replace(found, completions=there) if there else None

    def _of_values(self, text: str, one: Typed) -> Completing:
        known, is_cut = values(self.library, one.field, one.said)
        able = [
            (value, put)
            for value in matching(known, one.said)
            if (put := written(one.field, value.value)) is not None
        ]
        shown = able[:COMPLETIONS_MAX]
        if short_name(one.field) in COUNTED_LATE:
            index = self.library.index
            shown = [(counted(index, one.field, value, put), put) for value, put in shown]
        more = is_cut or len(able) > len(shown)
        return Completing(one, self._put(text, one, shown), more, *form_of(one.field))

    def _put(self, text: str, one: Typed, shown: Sequence[tuple[Known, str]]) -> list[Completion]:
        """Each in its place, but where the search would get too long."""
        made = []
        for value, put in shown:
            whole, at = completed(text, one, put)
            if len(whole) <= self.chars_max:
                made.append(Completion(value.value or "none", value.name, value.count, whole, at))
        return made
