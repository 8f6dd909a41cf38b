import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("pydantic") is None, reason="recipes need the extra train")


def run(module: str, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python code that has imported a module of this folder, in a process of its own."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}
    program = f"from fuzz import {module}\nif __name__ == '__main__':\n    {code}"
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)


def test_sixty_broken_files_make_no_traceback_crash_flood_or_leftover(tmp_path: Path) -> None:
    """The same sixty every time; `make fuzz` goes on from other seeds for as long as one likes."""
    child = run("run", "state = run.fuzz(0, 30.0, cases=60); print(state)", tmp_path)
    assert "done=60, kinds={'sound': 55, 'checkpoint': 2, 'recipe': 2, 'onnx': 1}" in child.stdout, child.stderr
    assert "faults=[]" in child.stdout, child.stdout
    assert not list(tmp_path.glob("fuzz-*"))


@pytest.mark.parametrize(
    ("code", "said", "megabytes", "fault"),
    [
        (2, "hamiltone: in.wav: there is not enough memory for it", 300, "asked for more memory"),
        (2, "hamiltone: m.onnx is damaged: it cannot be run: Failed to allocate memory", 300, "asked for more memory"),
        (2, "check_balloc(): error: Illegal bit allocation value.\nhamiltone: in.mp3: is empty", 3000, "took 3000 MB"),
        (2, "in.wav", 300, "without a reason"),
        (0, "Exception ignored in f\nTraceback (most recent call last):\nValueError", 300, "traceback: ValueError"),
        (1, "", 300, "exit code 1"),
    ],
)
def test_the_harness_notices(tmp_path: Path, code: int, said: str, megabytes: int, fault: str) -> None:
    found = f"worker._fault({code}, {said!r}, {megabytes}, worker.Path({str(tmp_path)!r}), worker.Case([], {{}}))"
    child = run("worker", f"print({found})", tmp_path)
    assert fault in child.stdout, child.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every run of the program is a forked process")
def test_signals_at_twelve_moments_lose_nothing(tmp_path: Path) -> None:
    """`make kill` does it two hundred times."""
    child = run("kill", "counts = kill.kill(12, 0); print(counts.moments.total(), counts.faults)", tmp_path)
    assert child.stdout.endswith("\n12 []\n"), child.stdout + child.stderr
