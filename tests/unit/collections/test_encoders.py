"""A configuration that names an encoder: grouped by what texts mean with the extra, refused without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fonds.collections.building.models import read_model
from fonds.collections.building.rebuilding import rebuild
from fonds.collections.building.tending import tend
from fonds.collections.changing import encoding
from fonds.collections.checking.checking import damages
from fonds.collections.configurations import configuration, put
from fonds.collections.documents import Document
from fonds.collections.reading.clusters import clusters
from fonds.collections.reading.documents import places, why
from fonds.collections.tables import CLUSTERINGS
from fonds.grouping import dense
from fonds.model.errors import ConfigurationError
from kept_collections import NEWS, Kept, faults, themed

CONF = "meant"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The extra is not installed."""
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    encoding._encoder.cache_clear()
    yield
    encoding._encoder.cache_clear()


@pytest.fixture
def installed() -> None:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    encoding._encoder.cache_clear()


@pytest.fixture
def asked(kept: Kept) -> Kept:
    put(kept.tables, "news", CONF, configuration({"clusters": 3, "encoder": "minilm"}))
    kept.changes.put(NEWS, themed(40, themes=3))
    return kept


@pytest.mark.usefixtures("installed")
def test_texts_are_grouped_explained_and_placed_later_by_the_model(asked: Kept) -> None:
    made = rebuild(asked.changes, NEWS, CONF, threads=1)
    assert (made.documents, made.apart) == (40, 0)
    served = clusters(asked.tables, NEWS, CONF)
    assert served is not None
    model = read_model(asked.tables, NEWS, CONF, made.timestamp)
    assert model is not None
    assert model.model.space.dense == dense.NUMBERS
    asked.changes.put(NEWS, [Document("later", themed(40, themes=3)[0].text + " today")])
    assert places(asked.tables, NEWS, "later")[0].label == places(asked.tables, NEWS, "d0")[0].label
    assert why(asked.tables, asked.changes.models, NEWS, "d1", CONF) is not None
    assert damages(asked.changes, NEWS) == []
    assert faults(asked.tables, NEWS) == []


@pytest.mark.usefixtures("without")
def test_without_the_extra_a_rebuild_names_it_and_leaves_nothing(asked: Kept) -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'fonds\[dense\]'"):
        rebuild(asked.changes, NEWS, CONF, threads=1)
    assert asked.tables.page(CLUSTERINGS, NEWS.row) == []
    assert faults(asked.tables, NEWS) == []
    assert rebuild(asked.changes, NEWS, threads=1).documents == 40


@pytest.mark.usefixtures("installed")
def test_one_that_cannot_be_built_here_holds_up_no_other(
    asked: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(asked.changes, NEWS, CONF, threads=1)
    rebuild(asked.changes, NEWS, threads=1)
    more = [replace(one, id=f"more-{one.id}") for one in themed(120, themes=3)]
    asked.changes.put(NEWS, more)
    monkeypatch.setattr(dense, "_MODEL", ("no_such_package_here", "model.onnx"))
    encoding._encoder.cache_clear()
    tended = {one.conf: one for one in tend(asked.changes, NEWS, threads=1)}
    encoding._encoder.cache_clear()
    assert "pip install 'fonds[dense]'" in tended[CONF].refused
    (other,) = (one for conf, one in tended.items() if conf != CONF)
    assert (bool(other.why), other.refused) == (True, "")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"encoder": "minlm"}, "did you mean 'minilm'"),
        ({"encoder": "minilm", "dense": 3}, "not both"),
    ],
)
def test_an_encoder_there_is_not_is_refused(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        configuration(values)
