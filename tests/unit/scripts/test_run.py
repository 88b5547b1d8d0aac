"""`make run DATA=…`: paths with and without quotes and spaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from run import split_paths


def test_one_path_with_spaces_needs_no_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    for name in ("my papers", "a.warc.gz", "b.warc.gz"):
        Path(name).mkdir()
    assert split_paths("") == split_paths("  ") == []
    assert split_paths("my papers") == ["my papers"]
    assert split_paths("*.warc.gz 'my papers'") == ["a.warc.gz", "b.warc.gz", "my papers"]
    assert split_paths("~/crawl no.warc") == ["/home/me/crawl", "no.warc"]
    with pytest.raises(ValueError, match="quotation"):
        split_paths("'my papers")


@pytest.mark.parametrize("word", ["$(touch x)", "`touch x`", "a;b", "-x"])
def test_a_path_is_never_executed(word: str) -> None:
    assert split_paths(word) in ([word], word.split())
