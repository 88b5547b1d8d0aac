"""Printed references in any style are split into fields, without loss and within limits."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cpu_growth import assert_linear_cpu
from depth import examples
from fonds.model.bibliography import Citation
from fonds.papers.bibliography.reference_list import split_entries
from fonds.papers.bibliography.reference_parser import STRING_MAX_CHARS, parse_reference

STYLES = {
    "apa": "Hill, A. B., & Vale, C. (2015). Rivers that rise: A survey. Journal of Water, 12(3), 45–67."
    " https://doi.org/10.1000/jw.12",
    "ieee": "[7] A. B. Hill and C. Vale, “Rivers that rise: A survey,” Journal of Water, vol. 12, no. 3,"
    " pp. 45–67, May 2015, doi: 10.1000/jw.12.",
    "vancouver": "3. Hill AB, Vale C. Rivers that rise: A survey. Journal of Water. 2015;12(3):45-67."
    " doi:10.1000/jw.12",
    "chicago": "Hill, Anna B., and Carl Vale. 2015. “Rivers That Rise: A Survey.” Journal of Water 12 (3):"
    " 45–67. https://doi.org/10.1000/jw.12.",
    "acm": "[2] A. B. Hill and C. Vale. 2015. Rivers that rise: A survey. Journal of Water 12, 3 (2015),"
    " 45–67. https://doi.org/10.1000/jw.12",
    "nature": "4. Hill, A. B. & Vale, C. Rivers that rise: A survey. Journal of Water 12, 45–67 (2015)."
    " https://doi.org/10.1000/jw.12",
    "lncs": "5. Hill, A.B., Vale, C.: Rivers that rise: A survey. Journal of Water 12(3), 45–67 (2015)."
    " https://doi.org/10.1000/jw.12",
    "elsevier": "[1] A.B. Hill, C. Vale, Rivers that rise: A survey, Journal of Water 12 (3) (2015) 45–67."
    " doi:10.1000/jw.12.",
}


@pytest.mark.parametrize("style", STYLES)
def test_an_article_has_the_same_fields_in_every_style(style: str) -> None:
    reference = parse_reference(STYLES[style])
    assert [author.surname for author in reference.authors] == ["Hill", "Vale"], reference.authors
    assert reference.authors[0].name.startswith("A")
    assert (reference.title or "").lower() == "rivers that rise: a survey"
    assert (reference.journal, reference.volume, reference.pages) == (
        "Journal of Water",
        "12",
        "45-67",
    )
    assert (reference.date or "")[:4] == "2015"
    assert reference.doi == "10.1000/jw.12"
    assert reference.unstructured == STYLES[style]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "A. Hill, C. Vale, and D. Moor, Phys. Rev. Lett. 104, 137401 (2010).",
            {"journal": "Phys. Rev. Lett.", "volume": "104", "pages": "137401", "date": "2010"},
        ),
        ("Hill A et al, 1997 Astrophys. J. 483 565", {"journal": "Astrophys. J.", "volume": "483"}),
        (
            "Hill, A. (2018). Teaching together (p. 300). Taylor Press.",
            {"title": "Teaching together (p. 300)", "publisher": "Taylor Press", "date": "2018"},
        ),
        (
            "A. Hill. 2005. Relations in Text. Ph.D. thesis, University of Water.",
            {"title": "Relations in Text", "institution": "University of Water", "date": "2005"},
        ),
        (
            "Hill, A. (1972). A world of rivers. In B. Dale & C. Fen (Eds.), Problems of water (pp. 155–172)."
            " Moor Press.",
            {"title": "A world of rivers", "book_title": "Problems of water", "pages": "155-172"},
        ),
        (
            "A. Hill and B. Vale. Toward dry data. In Rivers Conference (RC), pages 363–385, 2005.",
            {"title": "Toward dry data", "pages": "363-385", "date": "2005"},
        ),
        (
            "D. Hill and J. Vale. Adam: A method. arXiv preprint arXiv:1412.6980, 2014.",
            {"title": "Adam: A method", "arxiv_id": "1412.6980", "date": "2014"},
        ),
        (
            "Water Agency. (2021). Data of floats. https://doi.org/10.17882/42182",
            {"doi": "10.17882/42182"},
        ),
        (
            "Smith A. Effects of rain. N Engl J Med. 2010;363(4):301-10. PMID: 20660403.",
            {"pmid": "20660403", "issue": "4", "title": "Effects of rain"},
        ),
        (
            "Smith A. Effects of rain. N Engl J Med. 2008;183(11):1934–1943.",
            {"date": "2008", "volume": "183", "pages": "1934-1943"},
        ),
    ],
)
def test_other_types_of_works_are_split_too(text: str, fields: dict[str, str]) -> None:
    reference = parse_reference(text)
    assert {name: getattr(reference, name) for name in fields} == fields


def test_a_citation_id_is_kept() -> None:
    assert parse_reference(STYLES["apa"], 3, "ref-4").id == "ref-4"


def test_an_unparsable_reference_is_kept_as_text() -> None:
    reference = parse_reference("see above", 3)
    assert (reference.index, reference.id, reference.unstructured) == (3, "b3", "see above")
    assert parse_reference("") == Citation(id="b0", index=0, authors=())


@settings(max_examples=examples(60), deadline=None)
@given(
    st.one_of(
        st.text(max_size=400),
        st.text(alphabet="ABCabc., ()[]:;&0123456789-–“”'\"/", max_size=600),
        st.sampled_from(sorted(STYLES.values())).flatmap(
            lambda text: st.tuples(st.integers(0, len(text)), st.text(max_size=20)).map(
                lambda cut: text[: cut[0]] + cut[1] + text[cut[0] :]
            )
        ),
    )
)
@example("(" * 4_000)
@example("A. " * 2_000)
@example('. AA ."2000')
@example("Aa, A., " * 800)
@example("1" * 5_000)
@example("“" * 3_000)
def test_any_text_gives_valid_fields(text: str) -> None:
    reference = parse_reference(text)
    assert len(reference.unstructured or "") <= STRING_MAX_CHARS
    for name in ("title", "journal", "volume", "pages", "date", "doi", "url"):
        value = getattr(reference, name)
        assert value is None or (value == value.strip() and value)


@pytest.mark.parametrize(
    "text",
    [
        "A. ",
        "Aa, A., ",
        "A",
        "(",
        "“a",
        ". in ",
        ", Aa Bb, ",
        "www.",
        "Hill 2015 A",
        "arXiv ",
        "? A",
    ],
)
def test_the_cost_grows_linearly_with_the_reference(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    size = 32_000
    monkeypatch.setattr("fonds.papers.bibliography.reference_parser.STRING_MAX_CHARS", size)
    assert_linear_cpu(lambda size: parse_reference((text * size)[:size]), size)


def build_paper(entries: list[str], heading: str = "References") -> str:
    body = "Rivers that rise\nA text with words (Hill, 2015).\n" * 30
    return f"{body}\n{heading}\n" + "\n".join(entries)


def wrap_text(text: str, width: int = 60) -> str:
    """Wrap the text as a narrow column would."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) >= width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


APA = [
    "Abel, A. B., & Cane, C. (2015). Rivers that rise and fall again in the spring: A survey. Journal of"
    " Water, 12(3), 45–67.",
    "Dale, D. (2011). The minimum of water in the hills. Bulletin of Rain, 97, 1149–1158.",
    "Fen, F., Gorge, G. H., & Hill, I. (2018). Ten rules for crossing. Water Biology, 14, e1005963.",
    "Moor Weather Organization. (2019). Guide to clouds. https://example.org/clouds",
    "Vale, V. (n.d.). Notes on mist. Taylor Press.",
]
ACL = [
    "Anna Abel and Carl Cane. 2010. Nouns are rivers, adjectives are rain: Representing both in semantic"
    " space. In Proceedings of the Meeting on Water, pages 1183–1193, Boston, MA.",
    "Dora Dale. 2013. Composition in seas. Water Compass, 7(10):511–522.",
    "Fred Fen, Gina Gorge, and Ida Hill. 2012. Space Models and their Tides. In Proceedings of the Rain"
    " Society, Jeju Island, Korea.",
]


@pytest.mark.parametrize(
    ("entries", "heading"),
    [
        ([f"[{n}] {text}" for n, text in enumerate(APA, 1)], "References"),
        ([f"{n}. {text}" for n, text in enumerate(APA, 1)], "REFERENCES"),
        ([f"[{n}] {text}" for n, text in enumerate(APA, 1)], "8. References"),
        (APA, "Bibliography"),
        (ACL, "R E F E R E N C E S"),
        ([f"[{n}] {text}" for n, text in enumerate(APA, 1)], ""),
    ],
)
def test_entries_are_split_with_any_kind_of_mark(entries: list[str], heading: str) -> None:
    split = split_entries(build_paper([wrap_text(entry) for entry in entries], heading))
    assert split == entries


def test_headers_page_numbers_and_appendices_are_not_entries() -> None:
    head, foot = "Hill et al. — Rivers", "12"
    entries = [f"[{n}] {text}" for n, text in enumerate(APA, 1)]
    pages = ["Some words.\n" * 20 + "References\n" + "\n".join(entries[:2]), "\n".join(entries[2:])]
    text = "\f".join(f"{head}\n{page}\n{foot}" for page in ["First page.", *pages])
    assert split_entries(text + "\nAppendix A\n[9] No entry (2010).") == entries


def test_hyphens_at_line_ends_are_removed_and_urls_joined() -> None:
    text = build_paper(
        ["[1] A. Hill. Approxi-\nmation of rain 10-\n20. 2010. https:\n//example.org/a/\nb.pdf"]
    )
    assert split_entries(text) == [
        "[1] A. Hill. Approximation of rain 10-20. 2010. https://example.org/a/b.pdf"
    ]


def test_a_paper_without_references_has_no_entries() -> None:
    assert split_entries("No list here. The literature says nothing.\n" * 20) == []
    assert split_entries("") == []


@settings(max_examples=examples(30), deadline=None)
@given(st.text(alphabet="[]12. ABab,()\n\f-", max_size=800))
@example("References\n" * 20_000)
@example("References\n" + "[1] " * 3_000)
@example("References\n" + "A. B. 2010.\n" * 2_000)
def test_any_text_gives_non_empty_entries(text: str) -> None:
    assert all(entry.strip() for entry in split_entries(f"References\n{text}"))
