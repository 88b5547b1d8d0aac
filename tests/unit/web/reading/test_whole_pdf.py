"""A PDF as it is, for the browser's own reader."""

from __future__ import annotations

from starlette.testclient import TestClient

from reading_home import ReadingHome


def test_a_pdf_is_opened_under_its_title_and_without_rights(
    client: TestClient, reading: ReadingHome
) -> None:
    answer = client.get(f"/file/{reading.pdf}/pdf")
    assert answer.content.startswith(b"%PDF")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    assert answer.headers["x-content-type-options"] == "nosniff"
    said = answer.headers["content-disposition"]
    assert said.startswith('inline; filename="Flood report')
    assert "filename*=UTF-8''Flood%20report%20%E2%80%9CM%C3%A4rz" in said
    whole = client.get(f"/file/{reading.pdf}/body").headers["content-disposition"]
    assert whole == said.replace("inline", "attachment")


def test_parts_of_it_can_be_had(client: TestClient, reading: ReadingHome) -> None:
    path = f"/file/{reading.pdf}/pdf"
    whole = client.get(path).content
    part = client.get(path, headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, whole[5:10])
    assert part.headers["content-range"] == f"bytes 5-9/{len(whole)}"
    changed = client.get(path, headers={"Range": "bytes=5-9", "If-Range": '"other"'})
    assert (changed.status_code, changed.content) == (200, whole)
    assert client.get(path, headers={"Range": f"bytes={len(whole)}-"}).status_code == 416
    head = client.head(path, headers={"Accept-Encoding": "identity"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole))


def test_nothing_else_is_opened(client: TestClient, reading: ReadingHome) -> None:
    told = client.get(f"/file/{reading.versions[0]}/pdf")
    assert told.status_code == 404
    assert "is not a PDF" in told.text
    assert client.get(f"/file/{'0' * 40}/pdf").status_code == 404
