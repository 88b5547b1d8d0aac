"""The unchanged PDF for the PDF viewer of the browser."""

from __future__ import annotations

from starlette.testclient import TestClient

from reading_home import ReadingHome


def test_a_pdf_is_served_with_its_title_and_sandboxed(
    client: TestClient, reading: ReadingHome
) -> None:
    response = client.get(f"/file/{reading.pdf}/pdf")
    assert response.content.startswith(b"%PDF")
    assert response.headers["content-type"] == "application/pdf"
    assert response.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    assert response.headers["x-content-type-options"] == "nosniff"
    disposition = response.headers["content-disposition"]
    assert disposition.startswith('inline; filename="Flood report')
    assert "filename*=UTF-8''Flood%20report%20%E2%80%9CM%C3%A4rz" in disposition
    body_disposition = client.get(f"/file/{reading.pdf}/body").headers["content-disposition"]
    assert body_disposition == disposition.replace("inline", "attachment")


def test_range_requests_return_parts_of_the_pdf(client: TestClient, reading: ReadingHome) -> None:
    path = f"/file/{reading.pdf}/pdf"
    content = client.get(path).content
    part = client.get(path, headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, content[5:10])
    assert part.headers["content-range"] == f"bytes 5-9/{len(content)}"
    full_response = client.get(path, headers={"Range": "bytes=5-9", "If-Range": '"other"'})
    assert (full_response.status_code, full_response.content) == (200, content)
    assert client.get(path, headers={"Range": f"bytes={len(content)}-"}).status_code == 416
    head = client.head(path, headers={"Accept-Encoding": "identity"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(content))


def test_files_that_are_not_pdfs_return_404(client: TestClient, reading: ReadingHome) -> None:
    response = client.get(f"/file/{reading.versions[0]}/pdf")
    assert response.status_code == 404
    assert "is not a PDF" in response.text
    assert client.get(f"/file/{'0' * 40}/pdf").status_code == 404
