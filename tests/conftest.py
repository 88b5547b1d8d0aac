"""Setup for all tests: no test depends on machine speed, and the longest tests start first."""

import gc

import pytest
from hypothesis import settings

from depth import examples

# Collecting ten thousand tests is faster without garbage collection.
gc.disable()

pytest.register_assert_rewrite("browser.matrix", "browser.templates")
settings.register_profile("fonds", deadline=None, max_examples=examples(30))
settings.load_profile("fonds")

LONGEST = (
    "servers/test_disturbed_workers.py",
    "servers/test_followed_web.py",
    "servers/test_spark.py",
    "servers/test_queue_tools.py",
    "contract/test_repair.py",
    "servers/test_main_job.py",
    "servers/test_ansible_role.py",
    "servers/test_kafka.py",
    "servers/test_queues.py",
    "servers/test_hidden_on_servers.py",
    "e2e/test_followed_web.py",
    "journeys/test_readme.py",
    "journeys/test_howtos.py",
    "browser/test_pages.py",
    "browser/test_form_answers.py",
    "e2e/test_remote_paths.py",
    "e2e/test_versions.py",
    "e2e/test_worker_processes.py",
)
"""Files whose tests take minutes. Started last, one of them would keep all workers waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the longest files to the front; the other tests keep their order."""
    rank = {name: number for number, name in enumerate(LONGEST)}

    def get_rank(item: pytest.Item) -> int:
        return rank.get("/".join(item.path.parts[-2:]), len(LONGEST))

    items.sort(key=get_rank)


def pytest_collection_finish() -> None:
    """Enable garbage collection again, without scanning the collected tests."""
    gc.freeze()
    gc.enable()
