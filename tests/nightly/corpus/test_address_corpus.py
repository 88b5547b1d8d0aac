"""Every address the corpus holds: no two different articles meet in one id."""

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
SCROLLS_OR_TRACKS = re.compile(
    r"(utm_\w*|hsa_\w*|_ga|_gl|[a-z_]*clid|mc_[ce]id|pk_campaign|at_medium|at_campaign|xtor|wprss)=.*"
)
"""What may differ between two addresses of one page: written down here anew, not taken from the code."""

pytestmark = [
    pytest.mark.skipif(not (CORPUS / "feeds").is_dir(), reason=f"no feeds in {CORPUS}"),
]


def addresses() -> set[str]:
    found: set[str] = set()
    for path in sorted((CORPUS / "gold").glob("*.jsonl")):
        found.update(URL.findall(path.read_text("utf-8")))
    for folder in ("html", "feeds"):
        for path in sorted((CORPUS / folder).rglob("*")):
            if path.is_file():
                body = path.read_bytes()
                text = gzip.decompress(body) if path.suffix == ".gz" else body
                found.update(map(html.unescape, URL.findall(text.decode("utf-8", "ignore"))))
    return found


def essence(url: str) -> tuple[object, ...]:
    """What two addresses of one page have in common, whatever the code under test thinks."""
    parts = urlsplit(html.unescape(html.unescape(url)))
    pairs = {unquote(pair) for pair in parts.query.split("&") if pair}
    kept = frozenset(pair for pair in pairs if not SCROLLS_OR_TRACKS.fullmatch(pair.lower()))
    path = re.sub(r";jsessionid=[^/;]*", "", unquote(parts.path) or "/", flags=re.I)
    route = unquote(parts.fragment) if re.match(r"[!/].*\w", parts.fragment) else ""
    return (parts.netloc.lower().removesuffix(":80").removesuffix(":443"), path, kept, route)


def test_addresses_of_one_id_differ_only_in_what_tracks_or_scrolls() -> None:
    by_id: dict[str, set[str]] = defaultdict(set)
    everything = addresses()
    for url in everything:
        if "/." not in urlsplit(url).path:
            by_id[compute_story_id(url)].add(url)
    merged = [urls for urls in by_id.values() if len(urls) > 1]
    suspicious = [urls for urls in merged if len({essence(url) for url in urls}) > 1]
    say = sys.stdout.write
    say(f"\n{len(everything)} addresses, {len(by_id)} ids, {len(merged)} of several addresses\n")
    for urls in suspicious:
        say(f"  {sorted(urls)[:3]}\n")
    assert len(everything) > 50_000
    assert suspicious == []


def entries() -> Iterator[tuple[str, str, str]]:
    """Feed, link and title of each entry of the corpus's feeds."""
    for line in (CORPUS / "gold" / "feeds.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        for entry in row.get("entries") or ():
            link, title = entry.get("link"), entry.get("title")
            if isinstance(link, str) and isinstance(title, str) and link.startswith("http"):
                yield row["path"], link, title


def test_entries_with_other_titles_and_links_have_other_ids() -> None:
    by_id: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for feed, link, title in entries():
        by_id[feed, compute_story_id(link)].setdefault(link.partition("#")[0], title)
    met = [titles for titles in by_id.values() if len(set(titles.values())) > 1]
    sys.stdout.write(f"\n{len(by_id)} entries; of one id: {met[:5]}\n")
    assert len(by_id) > 400
    assert met == []


def test_every_address_has_a_domain_and_media_cloud_s_id() -> None:
    everything = addresses()
    without = [url for url in everything if hash_url(url) is None]
    sys.stdout.write(f"\n{len(without)} of {len(everything)} without Media Cloud's id\n")
    assert len(without) * 1000 < len(everything)
    assert all(find_canonical_domain(url) for url in everything)
