"""CDX and CDXJ indexes, with and without their WARCs."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.warcs import gzip_records, http_response, warcinfo
from fonds.ingest.sources import text_files
from fonds.model.capture import PlaceKind
from fonds.model.disposition import Reason

from .conftest import check_resuming, create_source, get_only_input, read_captures

HEADER = " CDX N b a m s k r M S V g\n"
DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def format_line(
    number: int = 0, warc: str = "w.warc.gz", mime: str = "text/html", **fields: str
) -> str:
    moment, status = fields.get("moment", "20240305060708"), fields.get("status", "200")
    url = f"http://example.org/{number}"
    return (
        f"org,example)/{number} {moment} {url} {mime} {status} {DIGEST} - - 500 {number} {warc}\n"
    )


def write_index(path: Path, *lines: str) -> Path:
    path.write_text(HEADER + "".join(lines))
    return path


def test_each_line_is_a_capture_at_its_place(tmp_path: Path, home: Path) -> None:
    warc = tmp_path / "w.warc.gz"
    warc.write_bytes(gzip_records([warcinfo(), http_response()]))
    path_source = create_source(
        home, write_index(tmp_path / "i.cdx", format_line(7), format_line(8, mime="warc/revisit"))
    )
    assert get_only_input(path_source).kind == "index"
    first, second = read_captures(path_source)[0]
    assert (first.place.kind, first.place.path) == (PlaceKind.WARC, str(warc))
    assert (first.place.offset, first.place.size_bytes) == (7, 500)
    assert (first.url, first.datetime14) == ("http://example.org/7", "20240305060708")
    assert (first.status, first.mime, first.digest) == (200, "text/html", DIGEST)
    assert (first.record_type, second.record_type) == ("response", "revisit")
    assert first.damage is None


@pytest.mark.parametrize("folder", ["", "archive", "../archive", "sub/deep"])
def test_a_warc_is_found_near_its_index(tmp_path: Path, home: Path, folder: str) -> None:
    indexes_folder = tmp_path / "cdx"
    indexes_folder.mkdir()
    warc = (indexes_folder / folder / "w.warc.gz").resolve()
    warc.parent.mkdir(parents=True, exist_ok=True)
    warc.write_bytes(b"")
    warc_name = f"{folder}/w.warc.gz" if folder.startswith("sub") else "w.warc.gz"
    ((capture,), _) = read_captures(
        create_source(home, write_index(indexes_folder / "i.cdx", format_line(warc=warc_name)))
    )
    assert Path(capture.place.path).resolve() == warc


def test_a_missing_warc_is_expected_next_to_the_index(tmp_path: Path, home: Path) -> None:
    """The capture states the expected place, so that a retry finds a WARC added later."""
    path_source = create_source(
        home, write_index(tmp_path / "i.cdx", format_line(warc="later.warc.gz"))
    )
    ((capture,), _) = read_captures(path_source)
    assert capture.place.path == str(tmp_path / "later.warc.gz")
    assert capture.damage is None


def test_warcs_are_found_below_the_given_base(tmp_path: Path, home: Path) -> None:
    base = tmp_path / "warcs"
    (base / "2024").mkdir(parents=True)
    (base / "2024" / "w.warc.gz").write_bytes(b"")
    index = write_index(tmp_path / "i.cdx", format_line(warc="2024/w.warc.gz"))
    ((capture,), _) = read_captures(create_source(home, index, warc_base=str(base)))
    assert capture.place.path == str(base / "2024" / "w.warc.gz")


def test_another_base_makes_another_input(tmp_path: Path, home: Path) -> None:
    index = write_index(tmp_path / "i.cdx", format_line())
    row_without_base = get_only_input(create_source(home, index))
    assert (
        get_only_input(create_source(home, index, warc_base="/warcs")).input_id
        != row_without_base.input_id
    )


def test_a_base_can_be_a_url(tmp_path: Path, home: Path) -> None:
    index = write_index(tmp_path / "i.cdx", format_line(warc="../../2024/w.warc.gz"))
    ((capture,), _) = read_captures(
        create_source(home, index, warc_base="https://warcs.example/all")
    )
    assert capture.place.path == "https://warcs.example/all/2024/w.warc.gz"


@pytest.mark.parametrize("warc_name", ["../../../../etc/passwd", "/etc/passwd"])
def test_an_index_cannot_name_files_outside_its_base(
    tmp_path: Path, home: Path, warc_name: str
) -> None:
    ((capture,), _) = read_captures(
        create_source(home, write_index(tmp_path / "i.cdx", format_line(warc=warc_name)))
    )
    assert capture.place.path == str(tmp_path / "etc" / "passwd")


@pytest.mark.parametrize("warc_name", ["..", "/", "../..", "x" * 5000])
def test_an_impossible_warc_name_does_not_stop_reading(
    tmp_path: Path, home: Path, warc_name: str
) -> None:
    path_source = create_source(
        home,
        write_index(
            tmp_path / "i.cdx", format_line(0), format_line(1, warc=warc_name), format_line(2)
        ),
    )
    rows, _ = read_captures(path_source)
    assert [capture.url[-1] for capture in (rows[0], rows[2])] == ["0", "2"]
    assert len(rows) == 3


def test_an_unreadable_line_is_a_damaged_capture(tmp_path: Path, home: Path) -> None:
    bad_time = format_line(1, moment="20241399000000")
    lines = [format_line(0), "rubbish\n", format_line(2), bad_time]
    rows, _ = read_captures(create_source(home, write_index(tmp_path / "i.cdx", *lines)))
    assert [capture.damage_reason for capture in rows] == [
        None,
        Reason.BAD_INDEX_LINE,
        None,
        Reason.BAD_INDEX_LINE,
    ]
    assert rows[1].damage is not None
    assert rows[1].damage.startswith("line 3: ")


def test_a_line_of_the_year_1_has_a_time_of_14_digits(tmp_path: Path, home: Path) -> None:
    ((capture,), _) = read_captures(
        create_source(home, write_index(tmp_path / "i.cdx", format_line(moment="00010101000000")))
    )
    assert capture.datetime14 == "00010101000000"


def test_reading_resumes_at_every_line(tmp_path: Path, home: Path) -> None:
    lines = [format_line(0), "\n", "rubbish\n", format_line(1), format_line(2)]
    check_resuming(create_source(home, write_index(tmp_path / "i.cdx", *lines)))


def test_a_compressed_index_has_the_same_captures_as_a_plain_one(
    tmp_path: Path, home: Path
) -> None:
    plain = write_index(tmp_path / "i.cdx", *[format_line(n) for n in range(50)])
    packed = tmp_path / "i.cdx.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    captures_by_file = [read_captures(create_source(home, path))[0] for path in (plain, packed)]
    urls = [[capture.url for capture in index_captures] for index_captures in captures_by_file]
    assert urls[0] == urls[1]
    assert len(urls[0]) == 50


@pytest.mark.parametrize("fault", ["cut", "flipped", "trailing"])
def test_lines_before_the_damage_of_a_compressed_index_are_read(
    tmp_path: Path, home: Path, fault: str
) -> None:
    text = HEADER + "".join(format_line(n, warc=f"{n * 7919 % 1000}.warc.gz") for n in range(3000))
    data = bytearray(gzip.compress(text.encode()))
    if fault == "cut":
        del data[len(data) // 2 :]
    elif fault == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data += b"rubbish"
    path = tmp_path / "i.cdx.gz"
    path.write_bytes(data)
    rows, _ = read_captures(create_source(home, path))
    assert len(rows) > 500
    assert rows[-1].damage_reason is Reason.DAMAGED_RECORD
    assert len({capture.id for capture in rows}) == len(rows)


def test_an_index_that_unpacks_to_far_more_is_stopped(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "LINE_MAX_BYTES", 1000)
    text = HEADER + format_line() * 5 + "#" * 50 * 1024 * 1024
    path = tmp_path / "i.cdx.gz"
    path.write_bytes(gzip.compress(text.encode()))
    rows, _ = read_captures(create_source(home, path))
    assert [capture.damage_reason for capture in rows] == [None] * 5 + [Reason.BOMB]


def test_an_overlong_line_is_rejected_and_the_next_is_read(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "LINE_MAX_BYTES", 200)
    lines = [format_line(0), "a" * 450 + "\n", format_line(1)]
    rows, _ = read_captures(create_source(home, write_index(tmp_path / "i.cdx", *lines)))
    assert [capture.url[-1] for capture in rows if capture.damage is None] == ["0", "1"]


def test_positions_are_line_numbers(tmp_path: Path, home: Path) -> None:
    path_source = create_source(
        home, write_index(tmp_path / "i.cdx", format_line(0), format_line(1), format_line(2))
    )
    rows, _ = read_captures(path_source, replace(get_only_input(path_source), position=2))
    assert [capture.url[-1] for capture in rows] == ["1", "2"]
