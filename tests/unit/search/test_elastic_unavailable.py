"""A search server that does not answer is reported as an error, without traces in the log."""

from __future__ import annotations

import pytest

from fonds.model.errors import StoreUnavailableError
from fonds.search.index.elastic_index import open_elasticsearch, open_opensearch

UNUSED_PORT = 9


@pytest.mark.parametrize("scheme", ["elasticsearch", "opensearch"])
def test_a_refused_connection_is_an_error_without_traceback_in_the_log(
    scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    open_index = {"elasticsearch": open_elasticsearch, "opensearch": open_opensearch}[scheme]
    index = open_index(f"{scheme}://127.0.0.1:{UNUSED_PORT}/fonds")
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        index.count()
    assert not any(record.exc_info for record in caplog.records)
    index.close()
