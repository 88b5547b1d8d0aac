"""Documents as references for those who cite them."""

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


def test_a_paper_is_an_article_in_bibtex_with_nothing_left_unescaped():
    entry = format_bibtex(PAPER)
    assert entry.startswith("@article{muller2024-")
    assert r"title = {{Floods \& \{dams\}: 50\% of \#1\_a \textbackslash{} b}}" in entry
    assert "author = {Müller, Ana and Chen, Bo}" in entry
    assert r"url = {https://x.example/a\%20b%7Bc%7D.pdf\#x}" in entry
    assert entry.count("{") - entry.count(r"\{") == entry.count("}") - entry.count(r"\}")


def test_what_is_not_known_is_left_out():
    entry = format_bibtex(STORY)
    assert entry.startswith("@misc{news-")
    assert "title = {{Title of two lines}}" in entry
    assert not any(name in entry for name in ("year", "author", "doi", "language"))
    assert build_csl(STORY).keys() == {"id", "type", "title", "URL", "container-title", "note"}


def test_csl_has_the_parts_its_schema_names():
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
"""Made names in every order and form."""


def test_names_have_the_parts_that_styles_sort_and_shorten_by():
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
        one for one in format_bibtex(document("a", authors=NAMES)).splitlines() if "author" in one
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
    ("url", "shown"),
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
def test_only_a_public_url_leaves_the_house(url: str, shown: str | None):
    one = document("a", url=url)
    assert build_csl(one).get("URL") == shown
    entry = format_bibtex(one)
    assert (f"url = {{{shown}}}" in entry.replace("\\", "")) is (shown is not None)
    assert "url = " not in entry or shown is not None
    assert "secret" not in entry


def test_keys_of_two_documents_differ():
    one, other = format_bibtex(PAPER), format_bibtex(document("other", authors=("Ana Müller",)))
    assert one.partition(",")[0] != other.partition(",")[0]


def test_csl_json_is_a_list_also_of_none_and_one(tmp_path: Path):
    write = EXPORT_FORMATS["csl"].documents
    for some in ([], [PAPER], [PAPER, STORY]):
        with open_home(tmp_path) as stores:
            told = msgspec.json.decode(b"".join(write(stores, iter(some), MissingDocuments())))
        assert [item["id"] for item in told] == [one.id for one in some]
