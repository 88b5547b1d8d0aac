"""What failures have in common, and what of a sentence belongs to one of them alone."""

from __future__ import annotations

from base64 import b32encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.tallies import (
    CAUSE_MAX_CHARS,
    compute_failure_group,
    find_host,
    normalize_cause,
)

SHA1 = "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"


@pytest.mark.parametrize(
    ("detail", "left"),
    [
        ("", ""),
        ("no file /crawls/a b.warc.gz at all", "no file … b.warc.gz at all"),
        ("stopped after 31.5 seconds of 30", "stopped after … seconds of …"),
        ("object 17 0 R is missing", "object … R is missing"),
        (f"{'ab12' * 10} is not {'F00D' * 16}", "… is not …"),
        ("at 0x7f3a: bad page", "at …: bad page"),
        ("http://x.example/1 answered 503", "…"),
        ("two\n  lines\there", "two lines here"),
        (f"declared sha1:{SHA1}, read {SHA1.lower()}", "declared …, read …"),
        (f"'SHA-256:{'A2B3' * 13}' of {'MZXW' * 13}====", "'…' of …"),
        (f"md5:{'a' * 32} is 1B2M2Y8AsgTpgAmY7PhCfg==", "… is …"),
        (f"a {'verylongword' * 3} stays", f"a {'verylongword' * 3} stays"),
    ],
)
def test_numbers_addresses_and_hashes_are_no_part_of_a_cause(detail: str, left: str) -> None:
    assert normalize_cause(detail) == (left if left != "…" else "… answered …")


@given(st.text(max_size=5_000))
def test_a_cause_is_short_and_the_cause_of_itself(detail: str) -> None:
    found = normalize_cause(detail)
    assert len(found) <= CAUSE_MAX_CHARS
    assert not any(one.isascii() and one.isdigit() for one in found)


@given(st.binary(min_size=20, max_size=20), st.sampled_from(["sha1:{}", "{}", "'{}'", "SHA-1={}"]))
def test_failures_that_differ_by_a_digest_are_of_one_group(digest: bytes, form: str) -> None:
    said = b32encode(digest).decode()
    assert normalize_cause(form.format(said)) == normalize_cause(form.format(SHA1))
    assert "…" in normalize_cause(form.format(said))


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_failures_that_differ_by_a_number_are_of_one_group(one: int, other: int) -> None:
    url = "http://x.example/a"
    groups = {
        compute_failure_group("extract_pdf", "timeout", f"stopped after {n} s", url)
        for n in (one, other)
    }
    assert len(groups) == 1


def test_step_reason_cause_and_host_each_make_another_group() -> None:
    whole = ("extract_pdf", "timeout", "stopped", "http://x.example/a")
    others = ("parse_story", "bomb", "too deep", "http://y.example/a")
    groups = {compute_failure_group(*whole)}
    for place, other in enumerate(others):
        groups.add(compute_failure_group(*whole[:place], other, *whole[place + 1 :]))
    assert len(groups) == 5
    assert compute_failure_group(*whole[:3], "http://x.example/other") in groups


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://News.Example:8080/x", "news.example"),
        ("/crawls/a.warc.gz", ""),
        ("file:///home/a.pdf", ""),
        ("http://[::1", ""),
        ("https:///x", ""),
    ],
)
def test_only_addresses_of_the_web_have_a_host(url: str, host: str) -> None:
    assert find_host(url) == host
