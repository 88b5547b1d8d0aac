"""Exporting documents as references in BibTeX and CSL."""

from datetime import date
from pathlib import Path

import msgspec
import pytest

from contract.index_backends import document
from filled_home import open_home
from fonds.model.file import Kind
from fonds.papers.bibliography.bibtex_csl import build_csl, format_bibtex
from fonds.search.export_formats import EXPORT_FORMATS
from fonds.search.export_warcs import MissingDocuments

PAPER = document(
    "paper",
    title="Floods & {dams}: 50% of #1_a \\ b",
    kind=Kind.PDF,
    authors=("Ana Müller", "Bo Chen"),
    doi="10.5555/a_b",
    page_count=3,
    captured=date(2024, 6, 1),
    url="https://x.example/a%20b{c}.pdf#x",
)
STORY = document("story", title="Title\nof two lines", language=None, publication_date=None)


def test_a_paper_is_an_escaped_bibtex_article():
    entry = format_bibtex(PAPER)
    assert entry.startswith("@article{muller2024-")
    assert r"title = {{Floods \& \{dams\}: 50\% of \#1\_a \textbackslash{} b}}" in entry
    assert "author = {Müller, Ana and Chen, Bo}" in entry
    assert r"url = {https://x.example/a\%20b%7Bc%7D.pdf\#x}" in entry
    assert entry.count("{") - entry.count(r"\{") == entry.count("}") - entry.count(r"\}")


def test_unknown_fields_are_omitted():
    entry = format_bibtex(STORY)
    assert entry.startswith("@misc{news-")
    assert "title = {{Title of two lines}}" in entry
    assert not any(name in entry for name in ("year", "author", "doi", "language"))
    assert build_csl(STORY).keys() == {"id", "type", "title", "URL", "container-title", "note"}


def test_csl_has_the_fields_of_its_schema():
    item = build_csl(PAPER)
    assert (item["type"], item["DOI"], item["number-of-pages"]) == (
        "article-journal",
        "10.5555/a_b",
        3,
    )
    assert item["author"] == [
        {"family": "Müller", "given": "Ana"},
        {"family": "Chen", "given": "Bo"},
    ]
    assert item["issued"] == {"date-parts": [[2024, 5, 17]]}
    assert item["accessed"] == {"date-parts": [[2024, 6, 1]]}


NAMES = (
    "Ludwig van Beethoven",
    "de la Cruz, Ana M.",
    "Vincent Van Gogh",
    "Martin Luther King Jr.",
    "Davis, Jr., Sammy",
    "Smith JA",
    "Dr. Ana Müller, PhD",
    "山田 太郎",
    "University of Air",
    "Ana Müller and Bo Chen",
    "Plato",
    "desk@news.example",
)
"""Invented names in every order and format."""


def test_names_are_split_into_their_parts():
    assert build_csl(document("a", authors=NAMES))["author"] == [
        {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
        {"family": "Cruz", "given": "Ana M.", "non-dropping-particle": "de la"},
        {"family": "Van Gogh", "given": "Vincent"},
        {"family": "King", "given": "Martin Luther", "suffix": "Jr."},
        {"family": "Davis", "given": "Sammy", "suffix": "Jr."},
        {"family": "Smith", "given": "JA"},
        {"family": "Müller", "given": "Ana"},
        {"family": "山田", "given": "太郎"},
        {"literal": "University of Air"},
        {"literal": "Ana Müller and Bo Chen"},
        {"literal": "Plato"},
        {"literal": "desk@news.example"},
    ]
    (line,) = (
        row for row in format_bibtex(document("a", authors=NAMES)).splitlines() if "author" in row
    )
    assert line.partition("= ")[2].strip("{,").removesuffix("}").split(" and ")[:8] == [
        "van Beethoven, Ludwig",
        "de la Cruz, Ana M.",
        "Van Gogh, Vincent",
        "King, Jr., Martin Luther",
        "Davis, Jr., Sammy",
        "Smith, JA",
        "Müller, Ana",
        "山田, 太郎",
    ]
    assert "{University of Air} and {Ana Müller and Bo Chen} and {Plato}" in line


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.example/a?b=c#d", "https://x.example/a?b=c#d"),
        ("http://reader:secret@x.example:8080/a", "http://x.example:8080/a"),
        ("http://93.184.216.34/a", "http://93.184.216.34/a"),
        ("file:///home/ada/private/a.pdf", None),
        ("s3://bucket/a.pdf", None),
        ("http://localhost:8000/a", None),
        ("http://wiki/a", None),
        ("http://nas.local/a", None),
        ("http://10.1.2.3/a", None),
        ("http://[fd00::1]/a", None),
    ],
)
def test_only_public_urls_are_exported(url: str, expected: str | None):
    source = document("a", url=url)
    assert build_csl(source).get("URL") == expected
    entry = format_bibtex(source)
    assert (f"url = {{{expected}}}" in entry.replace("\\", "")) is (expected is not None)
    assert "url = " not in entry or expected is not None
    assert "secret" not in entry


def test_two_documents_have_different_keys():
    first, second = format_bibtex(PAPER), format_bibtex(document("other", authors=("Ana Müller",)))
    assert first.partition(",")[0] != second.partition(",")[0]


def test_csl_json_is_a_list_for_any_number_of_documents(tmp_path: Path):
    write = EXPORT_FORMATS["csl"].documents
    for documents in ([], [PAPER], [PAPER, STORY]):
        with open_home(tmp_path) as stores:
            items = msgspec.json.decode(
                b"".join(write(stores, iter(documents), MissingDocuments()))
            )
        assert [item["id"] for item in items] == [row.id for row in documents]
