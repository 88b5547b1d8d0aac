"""A window on a file behaves like a file with only those bytes."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from fonds.ingest.sources.zips import Window

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(-1, 40), st.just(0)),
        st.tuples(st.just("seek"), st.integers(0, 60), st.just(io.SEEK_SET)),
        st.tuples(st.just("seek"), st.integers(0, 10), st.just(io.SEEK_CUR)),
        st.tuples(st.just("seek"), st.integers(-5, 0), st.just(io.SEEK_END)),
    )
)


@given(st.binary(max_size=60), st.integers(0, 20), st.integers(0, 40), STEPS)
def test_a_window_reads_like_a_file_of_its_bytes(
    data: bytes, start: int, size: int, steps: list[tuple[str, int, int]]
) -> None:
    inside = data[start : start + size]
    expected, window = io.BytesIO(inside), Window(io.BytesIO(data), start, len(inside))
    for verb, number, whence in steps:
        if verb == "read":
            assert window.read(number) == expected.read(number)
        elif whence != io.SEEK_END or -number <= len(inside):
            assert window.seek(number, whence) == expected.seek(number, whence)
        assert window.tell() == expected.tell()


def test_a_window_is_readable_and_seekable_but_not_writable() -> None:
    window = Window(io.BytesIO(b"abc"), 1, 1)
    assert window.readable()
    assert window.seekable()
    assert not window.writable()
