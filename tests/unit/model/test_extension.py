"""Values of dataclasses that extend others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fonds.model.extension import extend


@dataclass(frozen=True, slots=True)
class Plain:
    kind: str
    count: int | None
    value: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked(Plain):
    href: str


def test_shared_fields_are_copied_and_others_added() -> None:
    linked = extend(Linked, Plain("a", 1, "b"), href="/a")
    assert linked == Linked("a", 1, "b", href="/a")


def test_a_given_field_replaces_a_shared_one() -> None:
    assert extend(Linked, Plain("a", 1), kind="b", value="", href="/") == Linked(
        "b", 1, "", href="/"
    )


@pytest.mark.parametrize("fields", [{}, {"href": "/", "title": "A"}])
def test_each_added_field_is_needed_and_no_other_is_taken(fields: dict[str, str]) -> None:
    with pytest.raises(TypeError, match=r"href|title"):
        extend(Linked, Plain("a", 1), **fields)
