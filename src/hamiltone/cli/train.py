"""``hamiltone train``: a recipe in, a run folder out."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from hamiltone.errors import InputError

_LARGEST = 1_000_000  # bytes of a recipe
_DEEP = "its tables, or those of a key=value, are nested too deeply"
_DEEP_KEY = re.compile(
    r"(?<![\w\"'-])(?:[\w\"'-]++\s*+\.\s*+){64}"
)  # tomllib's memory grows with the square of the depth


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe in TOML.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE ...]", help="Keys to replace, with values in TOML.")
    ] = None,
) -> None:
    """Train a model from a recipe, or resume its training.

    The run goes to runs/NAME-OF-RECIPE, or to run.folder: its state
    (last.safetensors), the best model for hamiltone enhance --model or
    hamiltone accuracy (best.safetensors), config.toml, log.jsonl and tensorboard.

    The same command resumes a run that was stopped or killed, with the same
    result as an uninterrupted run. Ctrl-C, SIGTERM and a closed terminal (SIGHUP)
    save first; the exit code is then 128 plus the number of the signal.

    Example: hamiltone train recipes/toy.toml

    Example: hamiltone train recipes/voicebank.toml data.root=VoiceBank

    Example: hamiltone train recipes/sst2.toml data.root=SST-2 seed=123 run.folder=runs/sst2-123

    Example: torchrun --nproc-per-node 4 -m hamiltone train recipes/dns3.toml
    """
    try:
        from hamiltone.training import load_recipe, train_recipe
    except ModuleNotFoundError as error:
        raise InputError(f'training needs {error.name}: pip install "hamiltone[train]"') from None

    _check_size(recipe, overrides or [])
    try:
        plan = load_recipe(recipe, overrides or ())
    except RecursionError:
        raise InputError(f"{recipe}: {_DEEP}") from None
    if plan.seed >= 2**63:
        raise InputError(f"{recipe}: seed must be less than 2^63, got {plan.seed}")
    outcome = train_recipe(plan)
    if outcome.leads and outcome.stopped:
        with suppress(OSError):  # the terminal may be closed
            typer.echo(f"stopped and saved after step {outcome.step}; the same command resumes from there", err=True)
    elif outcome.leads:
        best = (
            f", best {outcome.select_by} {outcome.best:.4g} at step {outcome.best_step}"
            if outcome.best is not None
            else ""
        )
        typer.echo(f"{plan.run.folder}: {outcome.step} steps{best}")
    if outcome.stopped:
        raise typer.Exit(128 + outcome.stopped)


def _check_size(recipe: Path, overrides: list[str]) -> None:
    """Refuse input that would fill the memory before it turns out not to be a recipe."""
    texts = list(overrides)
    if recipe.exists():
        if not recipe.is_file():
            raise InputError(f"cannot read the recipe {recipe}: it is not a regular file")
        if recipe.stat().st_size > _LARGEST:
            raise InputError(f"cannot read the recipe {recipe}: it is larger than {_LARGEST:,} bytes")
        with suppress(OSError):  # whoever reads it reports it
            texts.append(recipe.read_text("utf-8", errors="replace"))
    if any(_DEEP_KEY.search(text) for text in texts):
        raise InputError(f"{recipe}: {_DEEP}")
