"""What holds for every test: none depends on how fast the machine is, and the longest begin first."""

import gc

import pytest
from hypothesis import settings

from depth import examples

# Ten thousand tests are collected faster when nothing looks for garbage among them.
gc.disable()

pytest.register_assert_rewrite("browser.matrix", "browser.templates")
settings.register_profile("fonds", deadline=None, max_examples=examples(30))
settings.load_profile("fonds")

LONGEST = (
    "servers/test_disturbed_workers.py",
    "servers/test_followed_web.py",
    "servers/test_spark.py",
    "servers/test_queue_tools.py",
    "servers/test_repair.py",
    "servers/test_main_job.py",
    "servers/test_ansible_role.py",
    "servers/test_kafka.py",
    "servers/test_queues.py",
)
"""Files whose tests take minutes together: started last, one of them would keep all workers waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the longest files to the front; all else stays in its order."""
    rank = {name: number for number, name in enumerate(LONGEST)}

    def place(item: pytest.Item) -> int:
        return rank.get("/".join(item.path.parts[-2:]), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among what was collected."""
    gc.freeze()
    gc.enable()
