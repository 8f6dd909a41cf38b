"""Imports flow one way: algebra <- nn <- models <- {inference, training, benchmark, ...} <- cli."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hamiltone

SOURCE = Path(hamiltone.__file__).parent
ALLOWED = {
    "errors": set(),
    "allocator": set(),
    "algebra": set(),
    "nn": {"algebra"},
    "audio": {"errors"},
    "models": {"algebra", "nn", "audio", "errors"},
    "losses": {"audio", "errors"},
    "metrics": {"audio", "errors"},
    "data": {"audio", "errors"},
    "runtime": {"errors"},
    "inference": {"audio", "models", "runtime", "errors"},
    "training": {"allocator", "nn", "models", "audio", "data", "losses", "metrics", "errors"},
    "benchmark": {"nn", "models", "inference", "errors"},
    "evaluation": {"audio", "data", "inference", "nn", "models", "metrics", "errors"},
    "export": {"algebra", "nn", "models", "runtime", "evaluation", "metrics", "errors"},
    "analysis": {"algebra", "nn", "models", "errors"},
    "paper": {
        "analysis",
        "benchmark",
        "data",
        "errors",
        "evaluation",
        "inference",
        "metrics",
        "models",
        "nn",
        "training",
    },
}


def _imports(path: Path) -> set[str]:
    """The parts of hamiltone that a file imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("hamiltone.")}


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_flow_one_way(part):
    folder = SOURCE / part
    files = [SOURCE / f"{part}.py"] if not folder.is_dir() else list(folder.rglob("*.py"))
    for path in files:
        assert _imports(path) <= ALLOWED[part] | {part}, path


def test_only_the_io_file_touches_soundfile_and_av():
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(line.split()[1].split(".")[0] in ("soundfile", "av") for line in _import_lines(path))
    }
    assert users <= {"audio/io.py"}


def _import_lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines() if line.strip().startswith(("import ", "from "))]


@pytest.mark.parametrize("path", sorted((SOURCE / "runtime").glob("*.py")), ids=lambda path: path.name)
def test_the_run_time_needs_no_torch(path):
    assert not any(line.split()[1].split(".")[0] == "torch" for line in _import_lines(path))


def test_importing_the_package_loads_torch_and_nothing_heavier():
    code = "import sys, hamiltone; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "torch" in loaded
    assert not {"soundfile", "scipy", "rich", "typer", "onnx", "matplotlib", "tensorboard", "lightning_fabric"} & set(
        loaded
    )


def test_nothing_is_ever_unpickled():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "torch.load(" not in text and "import pickle" not in text, path
