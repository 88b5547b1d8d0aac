"""Write a small sample crawl: invented news pages and PDFs in WARCs, a CDX, a ZIP and a folder.

    python scripts/sample.py [FOLDER]

Every run writes the same bytes. Some files are damaged on purpose.
"""

from __future__ import annotations

import argparse
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sample_containers import Visit, write_cdx, write_warc, write_zip
from sample_pages import build_content_type, build_not_found_page, build_page
from sample_pdfs import build_pdf, damage, encrypt
from sample_texts import SITES, Report, Story, build_slug, read_reports, read_stories

CRAWLED_AT = datetime(2025, 7, 1, 4, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SampleSummary:
    """Counts of a written sample crawl.

    `captures` counts the captures in each file, by its path in `folder`: responses in a WARC, lines of the
    CDX, members of the ZIP, loose files. In total they are `stories` and `pdfs`, each counted at its first
    capture, `repeats` of the same bytes, and one of each kind in `others`.
    """

    folder: Path
    stories: int
    pdfs: int
    repeats: int
    others: tuple[str, ...]
    captures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Share:
    """The stories and reports of one container."""

    stories: Sequence[Story]
    reports: Sequence[Report]


def write_sample(folder: Path) -> SampleSummary:
    """Write the sample crawl to `folder`. Creates the folder, or replaces its files."""
    for part in ("indexed", "loose"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    texts, papers = read_stories(), read_reports()
    main, plain = _Share(texts[:20], papers[:5]), _Share(texts[20:28], papers[5:9])
    indexed, loose = _Share(texts[28:32], papers[9:11]), _Share(texts[32:35], papers[11:13])
    zipped, cut = _Share(texts[35:38], papers[13:15]), _Share(texts[38:40], [])
    captures = {
        "news.warc.gz": _write_main(folder / "news.warc.gz", main),
        "papers.warc": _write_plain(folder / "papers.warc", plain, repeated=main.stories[3]),
        **_write_indexed(folder, indexed),
        **_write_loose(folder, loose, locked=papers[1], damaged=papers[3]),
        "bundle.zip": _write_bundle(folder / "bundle.zip", zipped, repeated=loose.reports[0]),
        "cut.warc.gz": _write_cut(folder / "cut.warc.gz", cut),
    }
    return SampleSummary(
        folder=folder,
        stories=len(texts) - 1,
        pdfs=len(papers),
        repeats=3 + captures["indexed/captures.cdx"],
        others=(
            "revisit",
            "not found",
            "redirect",
            "image",
            "broken PDF",
            "encrypted PDF",
            "truncated page",
        ),
        captures=captures,
    )


def _write_main(path: Path, share: _Share) -> int:
    """Write pages, PDFs and other typical responses; return the number of captures."""
    visits = _build_visits(share, CRAWLED_AT)
    # Some servers compress their responses.
    visits = [_compress(visit) if number % 7 == 2 else visit for number, visit in enumerate(visits)]
    first = visits[0]
    later = CRAWLED_AT + timedelta(days=14)
    site = SITES["riverpost"]
    visits += [
        Visit(
            f"https://{site.host}/gone.html",
            later,
            "text/html",
            build_not_found_page(site),
            status=404,
        ),
        Visit(
            f"https://{site.host}/old-home", later, "text/html", b"", 301, f"https://{site.host}/"
        ),
        Visit(f"https://{site.host}/static/logo.png", later, "image/png", _draw_picture()),
        Visit(first.url, later, first.content_type, first.body),
        Visit(visits[1].url, later, visits[1].content_type, visits[1].body, same_as=visits[1].at),
    ]
    return len(write_warc(path, visits, packed=True))


def _write_plain(path: Path, share: _Share, repeated: Story) -> int:
    """Write an uncompressed WARC. `repeated` is a story of another container, here with another URL."""
    visits = _build_visits(share, CRAWLED_AT + timedelta(days=1))
    url = f"https://mirror.press.example/{build_slug(repeated.title)}"
    visits.append(
        Visit(url, visits[-1].at, build_content_type(repeated.site), _build_page(repeated))
    )
    return len(write_warc(path, visits, packed=False))


def _write_indexed(folder: Path, share: _Share) -> dict[str, int]:
    """Write a WARC and its CDX. Reading both finds each capture twice."""
    warc = folder / "indexed" / "archive.warc.gz"
    records = write_warc(warc, _build_visits(share, CRAWLED_AT + timedelta(days=2)), packed=True)
    write_cdx(folder / "indexed" / "captures.cdx", records, warc.name)
    return {"indexed/archive.warc.gz": len(records), "indexed/captures.cdx": len(records)}


def _write_loose(folder: Path, share: _Share, locked: Report, damaged: Report) -> dict[str, int]:
    """Write loose files, among them a broken and an encrypted PDF."""
    files = {
        **_build_members(share, "loose/", "loose/"),
        f"loose/{locked.key}-confidential.pdf": encrypt(locked),
        f"loose/{damaged.key}-download.pdf": damage(damaged),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
        os.utime(folder / name, (CRAWLED_AT.timestamp(),) * 2)
    return dict.fromkeys(files, 1)


def _write_bundle(path: Path, share: _Share, repeated: Report) -> int:
    members = _build_members(share, "pages/", "papers/") | {
        f"papers/copy-of-{repeated.key}.pdf": build_pdf(repeated)
    }
    write_zip(path, members, CRAWLED_AT)
    return len(members)


def _write_cut(path: Path, share: _Share) -> int:
    """Write a WARC with a truncated last record, as a full disk leaves it."""
    records = write_warc(path, _build_visits(share, CRAWLED_AT + timedelta(days=3)), packed=True)
    os.truncate(path, records[-1].offset + records[-1].size_bytes // 2)
    return len(records)


def _build_members(share: _Share, pages: str, papers: str) -> dict[str, bytes]:
    return {
        f"{pages}{build_slug(story.title)}.html": _build_page(story) for story in share.stories
    } | {f"{papers}{report.key}.pdf": build_pdf(report) for report in share.reports}


def _build_visits(share: _Share, began: datetime) -> list[Visit]:
    """Return one visit per story and report, forty seconds apart."""
    answers: Iterable[tuple[str, str, bytes]] = [
        *(
            (story.url, build_content_type(story.site), _build_page(story))
            for story in share.stories
        ),
        *((report.url, "application/pdf", build_pdf(report)) for report in share.reports),
    ]
    return [
        Visit(url, began + timedelta(seconds=40 * number), mime, body)
        for number, (url, mime, body) in enumerate(answers)
    ]


def _compress(visit: Visit) -> Visit:
    return Visit(visit.url, visit.at, visit.content_type, visit.body, packed=True)


def _build_page(story: Story) -> bytes:
    """Return the page of a story; its sidebar links to earlier stories of the same site.

    Stories without a date have no sidebar, because readers would take the dates in its URLs for theirs.
    """
    sidebar_stories = [
        other
        for other in read_stories()
        if other.site == story.site
        and other.published
        and story.published
        and other.published <= story.published
    ]
    return build_page(story, sidebar_stories)


def _draw_picture() -> bytes:
    """Return a PNG of 16 by 16 pixels, blue fading to white."""
    rows = b"".join(b"\0" + bytes([16 * y, 16 * y, 255]) * 16 for y in range(16))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def main() -> None:
    """Write the sample and print its contents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("sample-crawl"))
    summary = write_sample(parser.parse_args().folder)
    print(f"{summary.folder}: {sum(summary.captures.values())} captures")
    for name, count in summary.captures.items():
        size = (summary.folder / name).stat().st_size
        print(f"  {count:3}  {size / 1000:7.1f} kB  {name}")
    print(
        f"They are {summary.stories} pages, {summary.pdfs} PDFs, {summary.repeats} repeats, "
        f"and one of each: {', '.join(summary.others)}."
    )


if __name__ == "__main__":
    main()
