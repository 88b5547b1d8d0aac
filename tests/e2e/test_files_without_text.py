"""A file without text is kept, and every count, page and search says that it has none."""

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


def scan() -> bytes:
    """A PDF whose only page is a picture."""
    out = io.BytesIO()
    Image.new("RGB", (850, 1100), "lightgrey").save(out, "PDF")
    return out.getvalue()


def epub() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("content.xhtml", "<html><body><p>Salt marshes.</p></body></html>")
    return out.getvalue()


def test_what_has_no_text_is_told_apart_everywhere(tmp_path: Path) -> None:
    folder, home = tmp_path / "dump", tmp_path / "home"
    folder.mkdir()
    files = {
        "scan.pdf": scan(),
        "blank.pdf": text_pdf(("",)),
        "book.epub": epub(),
        "drawing.ps": b"%!PS-Adobe-3.0\nshowpage\n",
        "text.pdf": text_pdf(("Salt marshes along the coast.",)),
    }
    for name, body in files.items():
        (folder / name).write_bytes(body)
    ran = fonds(home, "ingest", folder)
    assert ran.code == 0, ran.err
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "1 stored searchable files and stories" in lines
    for count, reason in ((1, "scanned"), (1, "no-text-on-pages"), (2, "unread-type")):
        assert any(one.startswith(f"{count} stored without text {reason}") for one in lines), lines
    expected = {"no-text-on-pages": 1, "scanned": 1, "unread-type": 2}
    told = fonds(home, "status", "--json").last
    assert (told["done"], told["without_text"]) == (5, expected)
    assert fonds(home, "audit").code == 0
    ran = fonds(home, "search", "text:none", "--json")
    assert {hit["url"].rpartition("/")[2] for hit in ran.lines} == {"scan.pdf", "blank.pdf"}
    unread = "not in the index: 1 application/epub+zip, 1 application/postscript."
    assert unread in ran.err
    ran = fonds(home, "search", "kind:unread")
    assert ran.out == "Nothing found.\n"
    assert unread in ran.err
    for query in ("marshes", "-text:none", "kind:pdf"):
        assert "not in the index" not in fonds(home, "search", "--", query).err, query
    exported = fonds(home, "export").lines
    assert sorted(row["kind"] for row in exported) == ["pdf"] * 3 + ["unread"] * 2
    for row in exported:
        shown = fonds(home, "show", row["sha1hex"]).out
        if row["kind"] == "unread":
            assert "does not extract its text" in shown, shown
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
            assert unread in client.get(f"{path}?q=text:none").text, path
            assert unread in client.get(f"{path}?q=text:none+kind:story").text, path
            assert unread in client.get(f"{path}?q=kind:unread").text, path
        assert client.get("/records.json?weight=kept-without-text").json()["total"] == 4
