import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every case is a forked process")
@pytest.mark.skipif(importlib.util.find_spec("pydantic") is None, reason="recipes need the extra train")
def test_sixty_broken_files_make_no_traceback_crash_flood_or_leftover(tmp_path: Path) -> None:
    """The same sixty every time; `make fuzz` goes on from other seeds for as long as one likes."""
    code = (
        "import sys; from fuzz import run; state = run.fuzz(0, 30.0, cases=60); "
        "print(state); sys.exit(bool(state.faults) or state.done != 60)"
    )
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    child = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert child.returncode == 0, child.stdout + child.stderr
