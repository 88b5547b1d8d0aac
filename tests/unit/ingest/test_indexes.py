"""CDX and CDXJ indexes, with and without their WARCs."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.warcs import gzipped, http_response, warcinfo
from fonds.ingest.sources import indexes
from fonds.model.capture import PlaceKind
from fonds.model.disposition import Reason

from .conftest import captures, only_input, resumed_everywhere, source

HEADER = " CDX N b a m s k r M S V g\n"
DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def _line(number: int = 0, warc: str = "w.warc.gz", mime: str = "text/html", **of: str) -> str:
    moment, status = of.get("moment", "20240305060708"), of.get("status", "200")
    url = f"http://example.org/{number}"
    return (
        f"org,example)/{number} {moment} {url} {mime} {status} {DIGEST} - - 500 {number} {warc}\n"
    )


def _index(path: Path, *lines: str) -> Path:
    path.write_text(HEADER + "".join(lines))
    return path


def test_each_line_is_a_capture_at_the_place_it_names(tmp_path: Path, home: Path) -> None:
    warc = tmp_path / "w.warc.gz"
    warc.write_bytes(gzipped([warcinfo(), http_response()]))
    one = source(home, _index(tmp_path / "i.cdx", _line(7), _line(8, mime="warc/revisit")))
    assert only_input(one).kind == "index"
    first, second = captures(one)[0]
    assert (first.place.kind, first.place.path) == (PlaceKind.WARC, str(warc))
    assert (first.place.offset, first.place.size_bytes) == (7, 500)
    assert (first.url, first.datetime14) == ("http://example.org/7", "20240305060708")
    assert (first.status, first.mime, first.digest) == (200, "text/html", DIGEST)
    assert (first.record_type, second.record_type) == ("response", "revisit")
    assert first.damage is None


@pytest.mark.parametrize("folder", ["", "archive", "../archive", "sub/deep"])
def test_a_warc_is_found_beside_the_index(tmp_path: Path, home: Path, folder: str) -> None:
    indexes_folder = tmp_path / "cdx"
    indexes_folder.mkdir()
    warc = (indexes_folder / folder / "w.warc.gz").resolve()
    warc.parent.mkdir(parents=True, exist_ok=True)
    warc.write_bytes(b"")
    named = f"{folder}/w.warc.gz" if folder.startswith("sub") else "w.warc.gz"
    ((capture,), _) = captures(source(home, _index(indexes_folder / "i.cdx", _line(warc=named))))
    assert Path(capture.place.path).resolve() == warc


def test_a_warc_that_is_not_there_may_be_put_there_and_tried_again(
    tmp_path: Path, home: Path
) -> None:
    """The capture names the place to read, so that a retry finds what has been put there since."""
    one = source(home, _index(tmp_path / "i.cdx", _line(warc="later.warc.gz")))
    ((capture,), _) = captures(one)
    assert capture.place.path == str(tmp_path / "later.warc.gz")
    assert capture.damage is None


def test_warcs_lie_below_the_base_that_is_named(tmp_path: Path, home: Path) -> None:
    base = tmp_path / "warcs"
    (base / "2024").mkdir(parents=True)
    (base / "2024" / "w.warc.gz").write_bytes(b"")
    index = _index(tmp_path / "i.cdx", _line(warc="2024/w.warc.gz"))
    ((capture,), _) = captures(source(home, index, warc_base=str(base)))
    assert capture.place.path == str(base / "2024" / "w.warc.gz")


def test_told_another_base_the_index_is_read_again(tmp_path: Path, home: Path) -> None:
    index = _index(tmp_path / "i.cdx", _line())
    without = only_input(source(home, index))
    assert only_input(source(home, index, warc_base="/warcs")).input_id != without.input_id


def test_a_base_may_be_a_url(tmp_path: Path, home: Path) -> None:
    index = _index(tmp_path / "i.cdx", _line(warc="../../2024/w.warc.gz"))
    ((capture,), _) = captures(source(home, index, warc_base="https://warcs.example/all"))
    assert capture.place.path == "https://warcs.example/all/2024/w.warc.gz"


@pytest.mark.parametrize("named", ["../../../../etc/passwd", "/etc/passwd"])
def test_an_index_leads_to_nothing_outside_its_base(tmp_path: Path, home: Path, named: str) -> None:
    ((capture,), _) = captures(source(home, _index(tmp_path / "i.cdx", _line(warc=named))))
    assert capture.place.path == str(tmp_path / "etc" / "passwd")


@pytest.mark.parametrize("named", ["..", "/", "../..", "x" * 5000])
def test_a_name_no_warc_can_have_stops_nothing(tmp_path: Path, home: Path, named: str) -> None:
    one = source(home, _index(tmp_path / "i.cdx", _line(0), _line(1, warc=named), _line(2)))
    found, _ = captures(one)
    assert [capture.url[-1] for capture in (found[0], found[2])] == ["0", "2"]
    assert len(found) == 3


def test_a_line_that_cannot_be_understood_is_a_capture_that_says_so(
    tmp_path: Path, home: Path
) -> None:
    lines = [_line(0), "rubbish\n", _line(1, moment="20241399000000"), _line(2)]
    found, _ = captures(source(home, _index(tmp_path / "i.cdx", *lines)))
    assert [capture.damage_reason for capture in found] == [
        None,
        Reason.BAD_INDEX_LINE,
        Reason.BAD_INDEX_LINE,
        None,
    ]
    assert found[1].damage is not None
    assert found[1].damage.startswith("line 3: ")


def test_a_line_of_the_year_1_has_a_time_of_14_digits(tmp_path: Path, home: Path) -> None:
    ((capture,), _) = captures(
        source(home, _index(tmp_path / "i.cdx", _line(moment="00010101000000")))
    )
    assert capture.datetime14 == "00010101000000"


def test_reading_goes_on_from_every_line(tmp_path: Path, home: Path) -> None:
    lines = [_line(0), "\n", "rubbish\n", _line(1), _line(2)]
    resumed_everywhere(source(home, _index(tmp_path / "i.cdx", *lines)))


def test_a_packed_index_reads_as_the_plain_one(tmp_path: Path, home: Path) -> None:
    plain = _index(tmp_path / "i.cdx", *[_line(n) for n in range(50)])
    packed = tmp_path / "i.cdx.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    found = [captures(source(home, path))[0] for path in (plain, packed)]
    urls = [[capture.url for capture in one] for one in found]
    assert urls[0] == urls[1]
    assert len(urls[0]) == 50


@pytest.mark.parametrize("fault", ["cut", "flipped", "trailing"])
def test_what_comes_before_the_damage_of_a_packed_index_is_kept(
    tmp_path: Path, home: Path, fault: str
) -> None:
    text = HEADER + "".join(_line(n, warc=f"{n * 7919 % 1000}.warc.gz") for n in range(3000))
    data = bytearray(gzip.compress(text.encode()))
    if fault == "cut":
        del data[len(data) // 2 :]
    elif fault == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data += b"rubbish"
    path = tmp_path / "i.cdx.gz"
    path.write_bytes(data)
    found, _ = captures(source(home, path))
    assert len(found) > 500
    assert found[-1].damage_reason is Reason.DAMAGED_RECORD
    assert len({capture.id for capture in found}) == len(found)


def test_an_index_that_unpacks_to_far_more_is_stopped(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "LINE_MAX_BYTES", 1000)
    text = HEADER + _line() * 5 + "#" * 50 * 1024 * 1024
    path = tmp_path / "i.cdx.gz"
    path.write_bytes(gzip.compress(text.encode()))
    found, _ = captures(source(home, path))
    assert [capture.damage_reason for capture in found] == [None] * 5 + [Reason.BOMB]


def test_an_over_long_line_is_rejected_and_the_next_is_read(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "LINE_MAX_BYTES", 200)
    lines = [_line(0), "a" * 450 + "\n", _line(1)]
    found, _ = captures(source(home, _index(tmp_path / "i.cdx", *lines)))
    assert [capture.url[-1] for capture in found if capture.damage is None] == ["0", "1"]


def test_positions_count_lines_of_the_file(tmp_path: Path, home: Path) -> None:
    one = source(home, _index(tmp_path / "i.cdx", _line(0), _line(1), _line(2)))
    found, _ = captures(one, replace(only_input(one), position=2))
    assert [capture.url[-1] for capture in found] == ["1", "2"]
