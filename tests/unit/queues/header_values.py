"""Values of every type a broker's header may have."""

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


def same(one: object, other: object) -> bool:
    """Equal, and of equal types all the way down: 1, 1.0 and True are three things."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)
