"""The program as users call it."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from enhancers import fixed_mask
from hamiltone import cli
from hamiltone.errors import InputError
from hamiltone.runtime.torch_backend import TorchGain


@dataclass
class Result:
    code: int
    stdout: bytes
    stderr: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Run:
    """``hamiltone enhance`` in `tmp_path`, with a model that halves everything in place of the bundled one."""

    def resolve(model: str | None, device: str, threads: int | None) -> TorchGain:
        if model not in (None, "half"):
            raise InputError(f"there is no model {model!r}")
        return TorchGain(fixed_mask(0.5).to(device))

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["hamiltone", "enhance", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            cli.main()
        stdout, stderr = capfdbinary.readouterr()
        return Result(int(end.value.code or 0), stdout, stderr.decode())

    monkeypatch.setattr("hamiltone.runtime.backend.resolve_model", resolve)
    monkeypatch.chdir(tmp_path)
    return call
