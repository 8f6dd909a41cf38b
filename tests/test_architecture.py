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
    "markdown": {"errors"},
    "allocator": set(),
    "leftovers": set(),
    "algebra": set(),
    "nn": {"algebra"},
    "audio": {"errors", "leftovers"},
    "models": {"algebra", "nn", "audio", "errors"},
    "losses": {"audio", "errors"},
    "metrics": {"audio", "errors"},
    "data": {"audio", "errors"},
    "runtime": {"audio", "models", "errors"},
    "inference": {"audio", "models", "runtime", "errors"},
    "training": {"allocator", "nn", "models", "audio", "data", "losses", "metrics", "errors"},
    "benchmark": {"nn", "models", "inference", "errors", "markdown"},
    "evaluation": {"audio", "data", "inference", "nn", "models", "metrics", "errors"},
    "export": {"algebra", "nn", "models", "runtime", "evaluation", "metrics", "errors"},
    "analysis": {"algebra", "nn", "models", "metrics", "errors"},
    "paper": {
        "algebra",
        "analysis",
        "benchmark",
        "data",
        "errors",
        "evaluation",
        "inference",
        "markdown",
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


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, hamiltone; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {
        "torch",
        "numpy",
        "soundfile",
        "scipy",
        "rich",
        "typer",
        "onnx",
        "matplotlib",
        "tensorboard",
        "lightning_fabric",
    } & set(loaded)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_come_at_once(option):
    """Nothing heavy is imported, which unlike seconds can be asserted."""
    code = f"""
import atexit, sys
atexit.register(lambda: print(*sorted({{name.split('.')[0] for name in sys.modules}}), file=sys.stderr))
from hamiltone.__main__ import main
sys.argv = ["hamiltone", {option!r}]
main()
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "hamiltone" in child.stdout
    heavy = {"torch", "numpy", "rich", "soundfile", "scipy", "pydantic", "matplotlib", "safetensors"}
    assert not heavy & set(child.stderr.split())


def test_the_run_time_loads_no_torch_by_itself():
    for path in (SOURCE / "runtime").glob("*.py"):
        loaded = [line.split()[1] for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert not [name for name in loaded if name.split(".")[0] == "torch" or name.startswith("hamiltone.models")]


def test_nothing_is_ever_unpickled():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "torch.load(" not in text and "import pickle" not in text, path
