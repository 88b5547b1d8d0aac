"""Input with the names used in the documentation: a crawl, papers, a catalogue and a small news site."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from fixtures.feeds import rss_with_links, sitemap
from fixtures.http_server import CannedResponse, HttpServer
from fixtures.pdfs import text_pdf
from sample import write_sample

TITLE, CITED = "On the slow meandering of lowland rivers", "Tides and the banks they leave behind"
PAPER = text_pdf(
    [
        f"{TITLE}\nAda Stroom\nRivers are slow. They turn, and leave banks behind in every flood.",
        "References\n"
        f'[1] B. Brook, "{CITED},"\nJ. River Res., vol. 7, pp. 1-9, 1999.\n'
        '[2] C. Hill, "What nobody has a record of at all,"\nJ. River Res., vol. 8, pp. 3-5, 2001.',
    ],
    info={"/Title": TITLE, "/Author": "Ada Stroom"},
)
PAPER_SHA1 = sha1(PAPER).hexdigest()
SENTENCE = (
    "The council met on Tuesday to speak of the flood defence and of the bridge closed since May. "
)


@dataclass(frozen=True)
class Material:
    """The folder with the input, and the URL of a PDF in the crawl."""

    folder: Path
    pdf_url: str


def write_material(folder: Path) -> Material:
    """Write the input of the README and the how-tos to `folder`."""
    sample = folder / "sample"
    write_sample(sample)
    shutil.copy(sample / "news.warc.gz", folder / "crawl.warc.gz")
    shutil.copy(sample / "bundle.zip", folder / "pages.zip")
    (folder / "papers").mkdir()
    shutil.copy(sample / "papers.warc", folder / "papers" / "papers.warc")
    for path in sorted((sample / "loose").glob("*.pdf")):
        shutil.copy(path, folder / "papers" / path.name)
    (folder / "paper.pdf").write_bytes(PAPER)
    (folder / "papers" / "rivers.pdf").write_bytes(PAPER)
    for name in ("warcs", "crawls", "indexes"):
        (folder / name).mkdir()
    shutil.copy(sample / "indexed" / "archive.warc.gz", folder / "warcs" / "archive.warc.gz")
    shutil.copy(sample / "indexed" / "captures.cdx", folder / "index.cdx")
    shutil.copy(sample / "indexed" / "captures.cdx", folder / "indexes" / "captures.cdx")
    shutil.copy(sample / "loose" / "planet-detection.pdf", folder / "crawls" / "planets.pdf")
    (folder / "work.jsonl").write_text(json.dumps({"path": "planets.pdf"}) + "\n")
    write_catalogue(folder / "crossref")
    line = (folder / "index.cdx").read_text().splitlines()[1]
    return Material(folder, line.split()[2])


def write_catalogue(folder: Path) -> None:
    """Write a catalogue of two works to a new folder: the paper, and a work that it cites."""
    works = [
        _work("rivers", TITLE, "Stroom", 2011, "12", "101-120"),
        _work("tides", CITED, "Brook", 1999, "7", "1-9"),
    ]
    folder.mkdir()
    content = json.dumps({"items": works}).encode()
    (folder / "0.json.gz").write_bytes(gzip.compress(content))


def _work(
    name: str, title: str, family: str, year: int, volume: str, page: str
) -> dict[str, object]:
    return {
        "DOI": f"10.5555/{name}",
        "type": "journal-article",
        "title": [title],
        "author": [{"family": family, "given": family[0]}],
        "issued": {"date-parts": [[year]]},
        "container-title": ["Journal of River Research"],
        "volume": volume,
        "page": page,
    }


def publish_news(site: HttpServer) -> None:
    """Publish a news site of six stories, with a feed, a news sitemap and an index page."""
    for number in range(6):
        title = f"Story number {number}"
        paragraphs = "".join(f"<p>{SENTENCE} {number} {line}</p>" for line in range(6))
        page = f"<html><title>{title}</title><article><h1>{title}</h1>{paragraphs}</article></html>"
        html = {"Content-Type": "text/html; charset=utf-8"}
        site.responses[f"/2026/{number}"] = CannedResponse(200, page.encode(), html)
    links = [f"{site.url}/2026/{number}" for number in range(6)]
    site.responses["/feed.xml"] = CannedResponse(200, rss_with_links(links[:4], "<ttl>1</ttl>"))
    site.responses["/news-sitemap.xml"] = CannedResponse(200, sitemap(links[2:5]))
    anchors = "".join(
        f'<p><a href="{link}">Story about the river {link[-1]}</a></p>' for link in links
    )
    index = f"<html><title>Politics</title><body>{anchors}</body></html>"
    site.responses["/politics/"] = CannedResponse(
        200, index.encode(), {"Content-Type": "text/html"}
    )
    site.responses["/story"] = site.responses["/2026/0"]
