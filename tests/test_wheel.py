"""The wheel, built and installed as users do, runs."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """A virtual environment with the wheel installed and this one's packages behind it; returns its folder."""
    folder = tmp_path_factory.mktemp("wheel")

    def run(*arguments: str) -> None:
        subprocess.run([sys.executable, "-m", *arguments], check=True, capture_output=True)

    run("pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("hamiltone-*.whl")
    run("venv", "--without-pip", str(folder / "venv"))
    python = folder / "venv" / "bin" / "python"
    run("pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "behind.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def _run(environment: Path, *command: str) -> str:
    done = subprocess.run(
        [environment / "venv" / "bin" / command[0], *command[1:]], cwd=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_installed_package_is_not_the_source_tree(environment):
    where = Path(_run(environment, "python", "-c", "import hamiltone; print(hamiltone.__file__)"))
    assert environment in where.parents
    assert (where.parent / "py.typed").exists()


def test_the_console_script_runs(environment):
    import hamiltone

    assert _run(environment, "hamiltone", "--version") == f"hamiltone {hamiltone.__version__}"


def test_the_installed_attention_runs(environment):
    code = "import torch, hamiltone; print(*hamiltone.SharedScoreAttention(8, 2)(torch.ones(1, 3, 4, 8)).shape)"
    assert _run(environment, "python", "-c", code) == "1 3 4 8"


def test_the_installed_package_carries_its_models_and_enhances_with_the_default_one(environment):
    code = (
        "import numpy, hamiltone, hamiltone.models as models; "
        "[models.load_checkpoint(path) for path in models.bundled().values()]; "
        "print(*sorted(models.bundled()), hamiltone.enhance(numpy.zeros(1600, numpy.float32), 16000).shape)"
    )
    assert _run(environment, "python", "-c", code) == (
        "compact compact-hamilton compact-shared live toy toy-hamilton (1600,)"
    )


def test_the_wheel_carries_its_graphs_and_the_list_of_presets(environment):
    code = "from hamiltone import weights; print(*sorted(weights.graphs()), len(weights.preset_rows()))"
    assert _run(environment, "python", "-c", code) == "compact live live.window 12"


def test_the_bare_install_asks_for_no_torch(environment):
    code = "from importlib.metadata import requires; print(*[x for x in requires('hamiltone') if ';' not in x])"
    needed = {re.split(r"[<>=]", line)[0] for line in _run(environment, "python", "-c", code).split()}
    assert needed == {"numpy", "onnxruntime", "rich", "soundfile", "soxr", "typer"}


def test_the_installed_package_carries_the_page(environment):
    _run(environment, "hamiltone", "page", "--write", "page")
    names = {path.relative_to(environment / "page").as_posix() for path in (environment / "page").rglob("*.*")}
    assert {"index.html", "licences.txt", "models/compact.onnx", "models/live.onnx"} <= names
    assert any(name.endswith(".wasm.gz") for name in names) and any(name.endswith(".js") for name in names)
