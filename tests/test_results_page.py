"""Every command that docs/RESULTS.md prints can be run: it is parsed, and what it names in this repository is there."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from hamiltone.cli import app
from hamiltone.errors import InputError

ROOT = Path(__file__).parents[1]
COMMANDS = sorted(set(re.findall(r"`(hamiltone [^`]+)`", (ROOT / "docs" / "RESULTS.md").read_text())))
COMMANDS = [command for command in COMMANDS if len(command.split()) > 2]
KEPT = {
    Path("results", f"{kind}-{data}.json")
    for kind in ("accuracy", "runs", "similarity", "gradients")
    for data in ("cifar100", "sst2")
}
"""Where `reproduce` looks for what other commands print."""


def parse(words: list[str]):
    """The parsed options of a command line; what is missing or unknown is an error."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    return command.make_context(command.name, list(words), resilient_parsing=False)


def test_the_page_prints_commands_of_every_kind():
    verbs = {command.split()[1] for command in COMMANDS}
    assert {"reproduce", "train", "evaluate", "accuracy", "analyse"} <= verbs


@pytest.mark.parametrize("command", COMMANDS)
def test_a_printed_command_is_complete(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    command, _, target = command.partition(" > ")
    _, verb, *rest = shlex.split(command)
    options = parse([verb, *rest]).params
    if verb == "train":
        from hamiltone.training import load_recipe

        load_recipe(Path(options["recipe"]), options["overrides"])
    if target:
        assert options["as_json"] and Path(target) in KEPT
    if verb == "reproduce":
        from hamiltone.paper.pages.items import expand

        expand(name for name in options["names"] if name != "pages")
    if verb == "evaluate":  # it looks at its options before it looks for the folders
        with pytest.raises(InputError, match="is not a folder"):
            CliRunner().invoke(app, [verb, *rest], catch_exceptions=False)
