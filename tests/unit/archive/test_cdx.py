"""CDX and CDXJ lines, with the defects of real indexes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.archive.cdx import (
    CdxLine,
    IndexReader,
    RejectedLine,
    format_cdxj_line,
    sort_cdxj_lines,
)

DIGEST = "MQHD36X5MNZPWFNMD5LFOYZSFGCHUN3V"
FIELDS = {
    "surt": "org,example)/a.pdf",
    "dt": "20170706005950",
    "url": "http://example.org/A.pdf",
    "mime": "application/pdf",
    "status": "200",
    "digest": DIGEST,
    "redirect": "-",
    "meta": "-",
    "size": "361006",
    "offset": "17120058",
    "name": "item/a.warc.gz",
}
PARSED_LINE = CdxLine(
    surt="org,example)/a.pdf",
    datetime14="20170706005950",
    url="http://example.org/A.pdf",
    mime="application/pdf",
    status=200,
    digest=DIGEST,
    size_bytes=361006,
    offset=17120058,
    filename="item/a.warc.gz",
)


def make_line(**changes: str) -> str:
    return " ".join({**FIELDS, **changes}.values())


def parse(text: str) -> CdxLine | RejectedLine | None:
    return IndexReader().parse(text)


def get_rejection(text: str) -> str:
    parsed = parse(text)
    assert isinstance(parsed, RejectedLine)
    return parsed.detail


def test_a_line_of_eleven_fields_is_read() -> None:
    assert parse(make_line()) == PARSED_LINE
    assert parse(make_line() + "\n") == PARSED_LINE
    assert parse(make_line().replace(" ", "\t")) == PARSED_LINE


def test_lines_of_nine_and_ten_fields_are_read() -> None:
    nine = [v for k, v in FIELDS.items() if k not in ("meta", "size")]
    ten = [v for k, v in FIELDS.items() if k != "size"]
    for values in (nine, ten):
        parsed = parse(" ".join(values))
        assert isinstance(parsed, CdxLine)
        assert (parsed.offset, parsed.size_bytes) == (17120058, None)


def test_the_header_line_decides_the_order() -> None:
    reader = IndexReader()
    assert reader.parse(" CDX b N a g V k s m S") is None
    values = [FIELDS[k] for k in ("dt", "surt", "url", "name", "offset", "digest", "status")]
    assert reader.parse(" ".join([*values, FIELDS["mime"], FIELDS["size"]])) == PARSED_LINE


def test_fields_after_the_eleventh_are_ignored() -> None:
    assert parse(make_line() + " more and more") == PARSED_LINE


@pytest.mark.parametrize(
    "text",
    ["", "  ", "\n", "# a comment", "#" + make_line(), "!meta {}", "filedesc:a.arc 20170706005950"],
)
def test_blank_lines_comments_and_arc_headers_are_ignored(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize("mime", ["warc/revisit", "unk", "application/octet-stream"])
def test_revisits_and_ftp_rows_without_status_are_kept(mime: str) -> None:
    parsed = parse(make_line(mime=mime, status="-", size="-"))
    assert isinstance(parsed, CdxLine)
    assert (parsed.status, parsed.size_bytes, parsed.mime) == (None, None, mime)


def test_a_missing_key_is_built_from_the_url() -> None:
    parsed = parse(make_line(surt="-"))
    assert isinstance(parsed, CdxLine)
    assert parsed.surt == "org,example)/a.pdf"


@pytest.mark.parametrize(
    ("digest", "expected"),
    [
        (DIGEST.lower(), DIGEST),
        ("sha1:" + DIGEST, DIGEST),
        ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        ("-", None),
        ("sha-256:0e9739d9f476", None),
        ("md5:0e9739d9f476", None),
    ],
)
def test_digests_are_returned_in_base32_or_not_at_all(digest: str, expected: str | None) -> None:
    parsed = parse(make_line(digest=digest))
    assert isinstance(parsed, CdxLine)
    assert parsed.digest == expected


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"dt": "2017"}, "14-digit date"),
        ({"dt": "20171306005950"}, "14-digit date"),
        ({"dt": "20170706005950123"}, "14-digit date"),
        ({"dt": "-"}, "timestamp"),
        ({"url": "-"}, "url"),
        ({"status": "abc"}, "status"),
        ({"status": "20000"}, "status"),
        ({"status": "٢٠٠"}, "status"),
        ({"digest": "1" * 32}, "digest"),
        ({"digest": "error"}, "digest"),
        ({"digest": "sha1:short"}, "digest"),
        ({"size": "-5"}, "length"),
        ({"offset": "-"}, "offset"),
        ({"offset": "0x10"}, "offset"),
        ({"offset": "9" * 15}, "offset"),
        ({"name": "-"}, "filename"),
    ],
)
def test_an_invalid_line_is_rejected_with_a_message(changes: dict[str, str], word: str) -> None:
    assert word in get_rejection(make_line(**changes))


ODD_VALUES = st.sampled_from(
    ["-", "", "{", "{}", "#", "!", "filedesc:a", "200", "99", "2000", "00000000000000", "20240230000000",
     "20240229235959", "20240229240000", DIGEST, DIGEST.lower(), "a\u00a0b", "a\x1cb", "a\tb", "\u0661",
     "1" * 13]
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from([*FIELDS]), ODD_VALUES),
    st.sampled_from(["", " ", " more", "\r\n"]),
)
def test_the_fast_and_the_slow_parser_agree(changes: dict[str, str], end: str) -> None:
    slow = IndexReader()
    slow._has_usual_fields = False
    assert parse(make_line(**changes) + end) == slow.parse(make_line(**changes) + end)


def test_a_line_with_too_few_fields_is_rejected() -> None:
    assert (
        get_rejection("org,example)/ 20170706005950 http://example.org/")
        == "the line has 3 fields instead of 11"
    )


def test_cdxj_of_pywb_and_common_crawl_is_read() -> None:
    line_without_key = (
        '{"url": "http://example.org/A.pdf", "mime": "application/pdf", "status": "200", "digest": '
        f'"sha1:{DIGEST}", "length": "361006", "offset": 17120058, "filename": "item/a.warc.gz"}}'
    )
    assert parse(f"org,example)/a.pdf 20170706005950 {line_without_key}") == PARSED_LINE
    line_with_key = (
        '{"urlkey": "org,example)/a.pdf", "timestamp": "20170706005950", ' + line_without_key[1:]
    )
    assert parse(line_with_key) == PARSED_LINE


@pytest.mark.parametrize(
    "json",
    ["{", "{]", '{"url": 5}', '{"url": null}', "{" * 50_000, '{"a":' * 9_000 + "1" + "}" * 9_000],
)
def test_invalid_json_is_rejected(json: str) -> None:
    assert get_rejection(f"org,example)/ 20170706005950 {json}")


def test_a_formatted_line_is_parsed_back() -> None:
    assert parse(format_cdxj_line(PARSED_LINE).decode()) == PARSED_LINE


def test_sorted_lines_are_in_byte_order() -> None:
    lines = [
        PARSED_LINE,
        CdxLine("org,example)/a", "20200101000000", "u", "m", None, None, None, 5, "f"),
        CdxLine("org,example)/a", "20190101000000", "u", "m", None, None, None, 5, "f"),
    ]
    sorted_lines = sort_cdxj_lines(lines)
    assert sorted_lines == sorted(sorted_lines)
    assert sorted_lines[0].startswith(b"org,example)/a 20190101000000 {")


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30
)


@given(
    st.builds(
        CdxLine,
        surt=texts.filter(lambda text: text[0] not in "#!{-" and not text.startswith("filedesc")),
        datetime14=st.datetimes().map(lambda moment: f"{moment:%Y%m%d%H%M%S}".rjust(14, "0")),
        url=texts.filter(lambda text: text != "-"),
        mime=texts,
        status=st.none() | st.integers(0, 999),
        digest=st.none() | st.just(DIGEST),
        size_bytes=st.none() | st.integers(0, 10**12),
        offset=st.integers(0, 10**12),
        filename=texts.filter(lambda text: text != "-"),
    )
)
def test_any_formatted_line_is_parsed_back(value: CdxLine) -> None:
    assert parse(format_cdxj_line(value).decode()) == value


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    parsed = parse(text)
    assert parsed is None or isinstance(parsed, CdxLine) or parsed.detail
