"""Strategies for values of every type that a broker header can have."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from fonds.queues.headers import INT_MAX, INT_MIN, HeaderTime, Value

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
LEAVES: st.SearchStrategy[Value] = (
    st.none()
    | st.booleans()
    | st.integers(INT_MIN, INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.binary(max_size=8)
    | TEXTS
    | st.builds(HeaderTime, st.integers(0, 2**64 - 1))
    | st.builds(
        lambda raw, scale: Decimal(raw).scaleb(-scale), st.integers(-99, 99), st.integers(0, 9)
    )
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def are_equal(first: object, second: object) -> bool:
    """Return whether two values are equal and have equal types at every level: 1, 1.0 and True differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(
            are_equal(first[name], second[name]) for name in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(are_equal, first, second))
    return type(first) is type(second) and repr(first) == repr(second)
