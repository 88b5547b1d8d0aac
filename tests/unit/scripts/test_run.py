"""`make run DATA=…`: paths with and without quotes and spaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from run import paths_of


def test_one_path_with_spaces_needs_no_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    for name in ("my papers", "a.warc.gz", "b.warc.gz"):
        Path(name).mkdir()
    assert paths_of("") == paths_of("  ") == []
    assert paths_of("my papers") == ["my papers"]
    assert paths_of("*.warc.gz 'my papers'") == ["a.warc.gz", "b.warc.gz", "my papers"]
    assert paths_of("~/crawl no.warc") == ["/home/me/crawl", "no.warc"]
    with pytest.raises(ValueError, match="quotation"):
        paths_of("'my papers")


@pytest.mark.parametrize("word", ["$(touch x)", "`touch x`", "a;b", "-x"])
def test_a_path_is_never_executed(word: str) -> None:
    assert paths_of(word) in ([word], word.split())
