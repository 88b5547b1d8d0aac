"""All addresses of the corpus: different articles have different ids."""

from __future__ import annotations

import gzip
import html
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import compute_story_id, find_canonical_domain

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
URL = re.compile(r"https?://[A-Za-z0-9.-]+[A-Za-z0-9](?:/[^\s\"'<>\\\]]{0,900})?(?=[\s\"'<>\\\]])")
INSIGNIFICANT_PAIR = re.compile(
    r"(utm_\w*|hsa_\w*|mtm_\w*|_ga|_gl|[a-z_]*clid|srsltid|igshid|[gw]braid|gad_\w*|mc_[ce]id|pk_campaign|at_medium"
    r"|at_campaign|xtor|wprss)(=.*)?"
)
"""Parameters that may differ between addresses of one page; written independently of the code."""

pytestmark = [
    pytest.mark.skipif(not (CORPUS / "feeds").is_dir(), reason=f"no feeds in {CORPUS}"),
]


def list_addresses() -> set[str]:
    urls: set[str] = set()
    for path in sorted((CORPUS / "gold").glob("*.jsonl")):
        urls.update(URL.findall(path.read_text("utf-8")))
    for folder in ("html", "feeds"):
        for path in sorted((CORPUS / folder).rglob("*")):
            if path.is_file():
                body = path.read_bytes()
                text = gzip.decompress(body) if path.suffix == ".gz" else body
                urls.update(map(html.unescape, URL.findall(text.decode("utf-8", "ignore"))))
    return urls


def get_significant_parts(url: str) -> tuple[object, ...]:
    """Return the parts that addresses of one page share, independently of the code under test."""
    parts = urlsplit(html.unescape(html.unescape(url)))
    pairs = {unquote(pair) for pair in parts.query.split("&") if pair}
    significant_pairs = frozenset(
        pair for pair in pairs if not INSIGNIFICANT_PAIR.fullmatch(pair.lower())
    )
    path = re.sub(r";jsessionid=[^/;]*", "", unquote(parts.path) or "/", flags=re.I)
    route = unquote(parts.fragment) if re.match(r"[!/].*\w", parts.fragment) else ""
    return (
        parts.netloc.lower().removesuffix(":80").removesuffix(":443"),
        path,
        significant_pairs,
        route,
    )


def test_addresses_with_one_id_differ_only_in_tracking_and_scrolling_parts() -> None:
    by_id: dict[str, set[str]] = defaultdict(set)
    urls = list_addresses()
    for url in urls:
        if "/." not in urlsplit(url).path:
            by_id[compute_story_id(url)].add(url)
    merged = [group for group in by_id.values() if len(group) > 1]
    suspicious = [
        group for group in merged if len({get_significant_parts(url) for url in group}) > 1
    ]
    write_text = sys.stdout.write
    write_text(f"\n{len(urls)} addresses, {len(by_id)} ids, {len(merged)} of several addresses\n")
    for group in suspicious:
        write_text(f"  {sorted(group)[:3]}\n")
    assert len(urls) > 50_000
    assert suspicious == []


def iter_entries() -> Iterator[tuple[str, str, str]]:
    """Yield feed, link and title of each entry of the feeds in the corpus."""
    for line in (CORPUS / "gold" / "feeds.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        for entry in row.get("entries") or ():
            link, title = entry.get("link"), entry.get("title")
            if isinstance(link, str) and isinstance(title, str) and link.startswith("http"):
                yield row["path"], link, title


def test_entries_with_different_titles_and_links_have_different_ids() -> None:
    by_id: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for feed, link, title in iter_entries():
        by_id[feed, compute_story_id(link)].setdefault(link.partition("#")[0], title)
    collisions = [titles for titles in by_id.values() if len(set(titles.values())) > 1]
    sys.stdout.write(f"\n{len(by_id)} entries; of one id: {collisions[:5]}\n")
    assert len(by_id) > 400
    assert collisions == []


def test_all_addresses_have_a_domain_and_most_have_a_media_cloud_id() -> None:
    urls = list_addresses()
    without_id = [url for url in urls if hash_url(url) is None]
    sys.stdout.write(f"\n{len(without_id)} of {len(urls)} without Media Cloud's id\n")
    assert len(without_id) * 1000 < len(urls)
    assert all(find_canonical_domain(url) for url in urls)
