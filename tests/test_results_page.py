"""Every command that the pages on the paper print can be run: it is parsed, and what it names here is there."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from hamiltone.cli import app
from hamiltone.errors import InputError

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("RESULTS", "findings", "deviations")]
COMMANDS = {command for page in PAGES for command in re.findall(r"`(hamiltone [^`]+)`", page.read_text())}
for recipe in ("voicebank", "dns3", "twins"):
    COMMANDS |= set(
        re.findall(r"^#   (hamiltone .+)$", (ROOT / "recipes" / f"{recipe}.toml").read_text(), re.MULTILINE)
    )
NAMED = {"hamiltone bench model", "hamiltone bench folder"}
"""Verbs that a sentence names, without what they take."""
COMMANDS = sorted(command for command in COMMANDS - NAMED if len(command.split()) > 2)
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


def test_what_is_left_to_the_reader_names_what_there_is():
    """Of the trainings that a page does not spell out."""
    from hamiltone.models import PRESETS
    from hamiltone.paper.pages.items import ITEMS

    named = {name for item in ITEMS.values() for name in re.findall(r"model\.preset=([\w-]+)", item.more)}
    assert named == {"qtransformer-dns", "real-conformer-dns"} and named <= set(PRESETS)
