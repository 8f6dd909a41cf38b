"""The commit beside a measurement is that of the package."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hamiltone.benchmark import machine


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A repository that holds a package with a module in a room, and results beside it; the module stands for ours."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    module = tmp_path / "src" / "package" / "room" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    (tmp_path / "results").mkdir()
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.com"]
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(machine, "__file__", str(module))
    return tmp_path


def test_results_that_are_written_leave_the_commit_clean(package):
    clean = machine.this_machine().commit
    (package / "results" / "cost.json").write_text("{}")
    assert machine.this_machine().commit == clean and not clean.endswith("-dirty")


@pytest.mark.parametrize("name", ["room/module.py", "new.py"])
def test_a_change_of_the_package_is_told(package, name):
    (package / "src" / "package" / name).write_text("changed = True\n")
    assert machine.this_machine().commit.endswith("-dirty")


def test_without_a_repository_the_package_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "room" / "module.py"))
    (tmp_path / "room").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert machine.this_machine().commit == "installed"
