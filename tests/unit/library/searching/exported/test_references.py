"""Documents as references for those who cite them."""

from datetime import date

import msgspec

from contract.index_backends import document
from fonds.library.searching.exported.forms import FORMS
from fonds.library.searching.exported.references import bibtex, csl
from fonds.library.searching.exported.warcs import Missed
from fonds.model.file import Kind

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
    entry = bibtex(PAPER)
    assert entry.startswith("@article{muller2024-")
    assert r"title = {{Floods \& \{dams\}: 50\% of \#1\_a \textbackslash{} b}}" in entry
    assert "author = {{Ana Müller} and {Bo Chen}}" in entry
    assert r"url = {https://x.example/a\%20b%7Bc%7D.pdf\#x}" in entry
    assert entry.count("{") - entry.count(r"\{") == entry.count("}") - entry.count(r"\}")


def test_what_is_not_known_is_left_out():
    entry = bibtex(STORY)
    assert entry.startswith("@misc{news-")
    assert "title = {{Title of two lines}}" in entry
    assert not any(name in entry for name in ("year", "author", "doi", "language"))
    assert csl(STORY).keys() == {"id", "type", "title", "URL", "container-title", "note"}


def test_csl_has_the_parts_its_schema_names():
    item = csl(PAPER)
    assert (item["type"], item["DOI"], item["number-of-pages"]) == (
        "article-journal",
        "10.5555/a_b",
        3,
    )
    assert item["author"] == [{"literal": "Ana Müller"}, {"literal": "Bo Chen"}]
    assert item["issued"] == {"date-parts": [[2024, 5, 17]]}
    assert item["accessed"] == {"date-parts": [[2024, 6, 1]]}


def test_keys_of_two_documents_differ():
    one, other = bibtex(PAPER), bibtex(document("other", authors=("Ana Müller",)))
    assert one.partition(",")[0] != other.partition(",")[0]


def test_csl_json_is_a_list_also_of_none_and_one():
    write = FORMS["csl"].documents
    for some in ([], [PAPER], [PAPER, STORY]):
        told = msgspec.json.decode(b"".join(write(None, iter(some), Missed())))
        assert [item["id"] for item in told] == [one.id for one in some]
