import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; it holds for processes that tests start, too
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # for tests that import onnxruntime themselves

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

LONGEST = (
    "page/test_browser.py",
    "nn/toolchain/test_compile.py",
    "corpus/test_cluster.py",
    "export/test_export.py",
    "nn/toolchain/test_onnx.py",
    "fuzz/test_fuzz.py",
    "cli/test_rules.py",
    "cli/test_reproduce.py",
    "paper/test_twins.py",
    "training/test_hosts.py",
    "training/test_loop.py",
    "page/test_typescript.py",
    "metrics/test_dnsmos.py",
    "corpus/test_run.py",
)
"""Files that take long come first: the processes of `make test` then end at about the same time."""

settings.register_profile("tests", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


@pytest.fixture
def signals_are_heard() -> Iterator[None]:
    """A suite in the background ignores some signals (nohup), and its children would inherit that."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    ignored = [number for number in usual if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, usual[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands leave the allocator of this process alone: what they change would outlive the test."""
    monkeypatch.setattr("hamiltone.cli.enhance.keep_freed_memory", lambda: None)
