"""Failure groups and causes: the parts of a detail that many failures share."""

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
    ("detail", "cause"),
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
def test_numbers_urls_paths_and_hashes_are_not_part_of_a_cause(detail: str, cause: str) -> None:
    assert normalize_cause(detail) == (cause if cause != "…" else "… answered …")


@given(st.text(max_size=5_000))
def test_a_cause_is_short_and_has_no_digits(detail: str) -> None:
    cause = normalize_cause(detail)
    assert len(cause) <= CAUSE_MAX_CHARS
    assert not any(character.isascii() and character.isdigit() for character in cause)


@given(st.binary(min_size=20, max_size=20), st.sampled_from(["sha1:{}", "{}", "'{}'", "SHA-1={}"]))
def test_failures_that_differ_by_a_digest_are_in_one_group(digest: bytes, form: str) -> None:
    encoded_digest = b32encode(digest).decode()
    assert normalize_cause(form.format(encoded_digest)) == normalize_cause(form.format(SHA1))
    assert "…" in normalize_cause(form.format(encoded_digest))


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_failures_that_differ_by_a_number_are_in_one_group(first: int, second: int) -> None:
    url = "http://x.example/a"
    groups = {
        compute_failure_group("extract_pdf", "timeout", f"stopped after {n} s", url)
        for n in (first, second)
    }
    assert len(groups) == 1


def test_step_reason_cause_and_host_distinguish_groups() -> None:
    parts = ("extract_pdf", "timeout", "stopped", "http://x.example/a")
    other_parts = ("parse_story", "bomb", "too deep", "http://y.example/a")
    groups = {compute_failure_group(*parts)}
    for index, changed in enumerate(other_parts):
        groups.add(compute_failure_group(*parts[:index], changed, *parts[index + 1 :]))
    assert len(groups) == 5
    assert compute_failure_group(*parts[:3], "http://x.example/other") in groups


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
def test_only_web_urls_have_a_host(url: str, host: str) -> None:
    assert find_host(url) == host
