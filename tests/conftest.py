import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; it holds for processes that tests start, too
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # for tests that import onnxruntime themselves

import pytest
import torch
from hypothesis import settings

settings.register_profile("tests", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("tests")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands leave the allocator of this process alone: what they change would outlive the test."""
    monkeypatch.setattr("hamiltone.cli.enhance.keep_freed_memory", lambda: None)
