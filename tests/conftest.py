"""What holds for every test: none depends on how fast the machine is."""

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("e2e.matrix")
settings.register_profile("fonds", deadline=None)
settings.load_profile("fonds")
