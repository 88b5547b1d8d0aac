"""Roles and what each covers."""

from __future__ import annotations

from itertools import combinations_with_replacement

from fonds.model.access import Role, Viewer


def test_each_role_covers_itself_and_those_before_it_and_none_behind() -> None:
    for less, more in combinations_with_replacement(list(Role), 2):
        assert more.covers(less)
        assert less.covers(more) == (less is more)


def test_what_a_viewer_may_do_follows_from_the_role_alone() -> None:
    assert Viewer("anne", Role.CURATOR).has_role(Role.READER)
    assert not Viewer("admin", Role.READER).has_role(Role.CURATOR)
