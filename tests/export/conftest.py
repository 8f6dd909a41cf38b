import logging

import pytest


@pytest.fixture
def no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep torch's structured trace, thousands of records for machines, out of pytest's report."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "propagate", False)
