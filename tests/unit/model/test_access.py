"""Roles and the roles that they include."""

from __future__ import annotations

from itertools import combinations_with_replacement

from fonds.model.access import Role, Viewer


def test_each_role_covers_itself_and_lower_roles_only() -> None:
    for lower, higher in combinations_with_replacement(list(Role), 2):
        assert higher.covers(lower)
        assert lower.covers(higher) == (lower is higher)


def test_the_permissions_of_a_viewer_depend_only_on_the_role() -> None:
    assert Viewer("anne", Role.CURATOR).has_role(Role.READER)
    assert not Viewer("admin", Role.READER).has_role(Role.CURATOR)
