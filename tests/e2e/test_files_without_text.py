"""A file without text is stored, and every count, page and search reports that it has none."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from PIL import Image
from starlette.testclient import TestClient

from e2e.running import fonds
from filled_home import open_home
from fixtures.pdfs import text_pdf
from fonds.web.app import create_app


def make_scan() -> bytes:
    """Return a PDF whose only page is a picture."""
    out = io.BytesIO()
    Image.new("RGB", (850, 1100), "lightgrey").save(out, "PDF")
    return out.getvalue()


def make_epub() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("content.xhtml", "<html><body><p>Salt marshes.</p></body></html>")
    return out.getvalue()


def test_files_without_text_are_counted_and_shown_by_reason(tmp_path: Path) -> None:
    folder, home = tmp_path / "dump", tmp_path / "home"
    folder.mkdir()
    files = {
        "scan.pdf": make_scan(),
        "blank.pdf": text_pdf(("",)),
        "book.epub": make_epub(),
        "drawing.ps": b"%!PS-Adobe-3.0\nshowpage\n",
        "text.pdf": text_pdf(("Salt marshes along the coast.",)),
    }
    for name, body in files.items():
        (folder / name).write_bytes(body)
    result = fonds(home, "ingest", folder)
    assert result.code == 0, result.err
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert "1 stored searchable files and stories" in lines
    for count, reason in ((1, "scanned"), (1, "no-text-on-pages"), (2, "unread-type")):
        assert any(line.startswith(f"{count} stored without text {reason}") for line in lines), (
            lines
        )
    expected = {"no-text-on-pages": 1, "scanned": 1, "unread-type": 2}
    status = fonds(home, "status", "--json").last
    assert (status["done"], status["without_text"]) == (5, expected)
    assert fonds(home, "audit").code == 0
    result = fonds(home, "search", "text:none", "--json")
    assert {hit["url"].rpartition("/")[2] for hit in result.lines} == {"scan.pdf", "blank.pdf"}
    unread_note = "not in the index: 1 application/epub+zip, 1 application/postscript."
    assert unread_note in result.err
    result = fonds(home, "search", "kind:unread")
    assert result.out == "Nothing found.\n"
    assert unread_note in result.err
    for query in ("marshes", "-text:none", "kind:pdf"):
        assert "not in the index" not in fonds(home, "search", "--", query).err, query
    exported = fonds(home, "export").lines
    assert sorted(row["kind"] for row in exported) == ["pdf"] * 3 + ["unread"] * 2
    for row in exported:
        output = fonds(home, "show", row["sha1hex"]).out
        if row["kind"] == "unread":
            assert "does not extract its text" in output, output
    with (
        open_home(home) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        for reason, count in expected.items():
            answer = client.get(f"/records.json?reason={reason}").json()
            assert (answer["total"], answer["answer"].split(" as ")[0]) == (
                count,
                f"{count} record{'s' if count > 1 else ''} stored without text",
            )
            assert reason in client.get("/").text
        for path in ("/search", "/api/search"):
            assert unread_note in client.get(f"{path}?q=text:none").text, path
            assert unread_note in client.get(f"{path}?q=text:none+kind:story").text, path
            assert unread_note in client.get(f"{path}?q=kind:unread").text, path
        assert client.get("/records.json?weight=stored-without-text").json()["total"] == 4
