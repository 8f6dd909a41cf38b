"""What is in the folder of a run, and what a new run must not replace."""

from pathlib import Path

import pytest

from hamiltone.errors import InputError
from hamiltone.training.folder import RunFolder
from tasks import TOY, small_recipe


def test_the_model_of_a_run_without_its_state_is_not_replaced(tmp_path: Path) -> None:
    folder, recipe = RunFolder(tmp_path), small_recipe(tmp_path)
    folder.prepare(recipe)
    folder.check(recipe)  # killed before its first save
    folder.best.write_bytes(b"trained for days")
    with pytest.raises(InputError, match=r"holds the best model .* choose another run\.folder, or move best"):
        folder.check(recipe)


@pytest.mark.parametrize("line", ["# my notes\n", "at = 2024-01-01\n", ""])
def test_a_recipe_called_config_toml_is_not_replaced(tmp_path: Path, line: str) -> None:
    folder = RunFolder(tmp_path)
    folder.config.write_text(line + TOY.read_text())
    with pytest.raises(InputError, match=r"config\.toml was not written by a run, .* rename that file"):
        folder.check(small_recipe(tmp_path))


def test_a_comment_in_a_written_configuration_is_not_lost(tmp_path: Path) -> None:
    folder, recipe = RunFolder(tmp_path), small_recipe(tmp_path)
    folder.prepare(recipe)
    written = folder.config.read_text()
    folder.check(recipe)
    folder.config.write_text(written.replace("seed = 0", "seed = 0  # the first of three"))
    with pytest.raises(InputError, match="was not written by a run"):
        folder.check(recipe)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"seed = ", b"x = [" * 10])
@pytest.mark.parametrize("started", [True, False])
def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes, started: bool) -> None:
    folder = RunFolder(tmp_path)
    if started:
        folder.last.touch()
    folder.config.write_bytes(content)
    with pytest.raises(InputError, match=r"config\.toml is not valid TOML") as caught:
        folder.check(small_recipe(tmp_path))
    assert "\n" not in str(caught.value)
    assert folder.config.read_bytes() == content
