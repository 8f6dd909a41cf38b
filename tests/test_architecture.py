"""Imports flow one way, as the map in CONTRIBUTING.md says."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hamiltone

SOURCE = Path(hamiltone.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
ROOMS = sorted(
    path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py" if not path.name.startswith("__")
)


def _map() -> dict[str, set[str]]:
    """The rooms of the map in CONTRIBUTING.md, and what each may import."""
    section = CONTRIBUTING.read_text().split("## The map of the package")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", section, re.MULTILINE)
    everything = {room for room, _ in rows}
    return {room: everything if "everything" in names else set(re.findall(r"`(\w+)`", names)) for room, names in rows}


def _imports(code: str) -> set[str]:
    """The rooms of hamiltone that code imports anywhere in it; names of the package itself are no rooms."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    parts = [name.split(".") for name in names]
    return {name[1] for name in parts if name[0] == "hamiltone" and len(name) > 1 and name[1] in ROOMS}


@pytest.mark.parametrize(
    ("code", "rooms"),
    [
        ("from hamiltone import cli, __version__", {"cli"}),
        ("from hamiltone.nn.scores import SharedScore", {"nn"}),
        ("import hamiltone.models.compact as compact", {"models"}),
        ("def f():\n    from hamiltone import paper as p", {"paper"}),
        ("import hamiltone_other.cli, hamiltone", set()),
    ],
)
def test_every_way_to_import_a_room_is_seen(code, rooms):
    assert _imports(code) == rooms


def test_the_map_names_every_room_and_no_other():
    assert sorted(_map()) == ROOMS


def test_the_package_docstring_names_every_room():
    tour = hamiltone.__doc__ or ""
    assert [room for room in ROOMS if f"`{room}`" not in tour] == []


PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_the_docstring_of_a_package_names_every_module(package):
    tour = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    names = {path.stem for path in package.glob("*.py")} - {"__init__"}
    names |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert [name for name in sorted(names) if not re.search(rf"`(\w+\.)*{name}`", tour)] == []


def test_the_map_has_no_circles():
    above: set[str] = set()
    for room, allowed in _map().items():
        assert room == "cli" or allowed <= above, f"{room} may only import rooms that stand above it in the map"
        above.add(room)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_flow_one_way(room):
    folder = SOURCE / room
    for path in folder.rglob("*.py") if folder.is_dir() else [SOURCE / f"{room}.py"]:
        assert _imports(path.read_text()) <= _map()[room] | {room, "torch_extra"}, path


def test_only_the_files_of_audio_touch_soundfile_and_av():
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(line.split()[1].split(".")[0] in ("soundfile", "av") for line in _import_lines(path))
    }
    assert users <= {"audio/io.py", "audio/sound_file.py"}  # PyAV is optional: imported where it is used


def test_only_the_resampling_file_touches_soxr():
    users = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "import soxr" in path.read_text()}
    assert users == {"audio/soxr_resampling.py"}


def _import_lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines() if line.strip().startswith(("import ", "from "))]


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, hamiltone; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {
        "torch",
        "onnxruntime",
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
    heavy = {"torch", "onnxruntime", "numpy", "rich", "soundfile", "scipy", "pydantic", "matplotlib", "safetensors"}
    assert not heavy & set(child.stderr.split())


def test_the_run_time_loads_no_torch_by_itself():
    rooms = [path for room in ("runtime", "weights", "cli") for path in (SOURCE / room).glob("*.py")]
    for path in rooms:
        loaded = [line.split()[1] for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert not [name for name in loaded if name.split(".")[0] == "torch" or name.startswith("hamiltone.models")]


def test_nothing_is_ever_unpickled():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "torch.load(" not in text and "import pickle" not in text, path
