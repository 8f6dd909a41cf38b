"""Writes docs/recipes.md, the reference of recipes, from the tables in hamiltone.training: every key with its meaning.

python tools/recipe_reference.py
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from hamiltone import markdown
from hamiltone.data.mixing import Variety
from hamiltone.data.vision_samples import Augmentation
from hamiltone.losses import LossWeights
from hamiltone.models import CompactConfig, EnhancerConfig, RowConfig, TextConfig, VisionConfig
from hamiltone.nn.rules import RULES
from hamiltone.training.classifier import CrossEntropy
from hamiltone.training.config import Batches, Budget, Optimiser, Recipe, Run, Schedule
from hamiltone.training.speech_recipe import MixtureData, PairData, RemixedData, SyntheticData, Validation
from hamiltone.training.text import TextData
from hamiltone.training.vision import VisionData

PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"

INTRODUCTION = """\
# Recipe reference

A recipe is a TOML file: `hamiltone train RECIPE.toml [KEY=VALUE ...]`. On the command line a key is written with the
name of its table, as in `optimiser.lr=1e-4`. Unknown keys are errors. Sizes of models count quaternions, segments count
samples. [Train on your own folders](training.md) is the guide; `recipes/` has recipes to start from.

This page is written by `python tools/recipe_reference.py` from the tables in `hamiltone.training`.
"""

SECTIONS: tuple[tuple[str, str, tuple[tuple[str, type], ...]], ...] = (
    (
        "Every recipe",
        "",
        (
            ("At the top of the file", Recipe),
            ("[budget]", Budget),
            ("[batches]", Batches),
            ("[optimiser]", Optimiser),
            ("[schedule]", Schedule),
            ("[run]", Run),
        ),
    ),
    (
        "Speech",
        'For `task = "speech"`. The table `[model]` has either a `preset` (see `hamiltone presets`) or a `family`\n'
        "(`paper`, `compact` or `rows`), and the keys in which the model differs from it.",
        (
            ('[data], kind = "synthetic"', SyntheticData),
            ('[data], kind = "pairs"', PairData),
            ('[data], kind = "remixed"', RemixedData),
            ('[data], kind = "mixtures"', MixtureData),
            ("[data.variety]", Variety),
            ("[loss]", LossWeights),
            ("[validation]", Validation),
            ('[model], family = "compact"', CompactConfig),
            ('[model], family = "paper"', EnhancerConfig),
            ('[model], family = "rows"', RowConfig),
        ),
    ),
    (
        "Images",
        'For `task = "vision"`. The keys `classes` and `size` of the model follow from the data.',
        (
            ("[data]", VisionData),
            ("[data.augmentation]", Augmentation),
            ("[loss]", CrossEntropy),
            ("[model]", VisionConfig),
        ),
    ),
    (
        "Text",
        'For `task = "text"`. The keys `classes` and `vocabulary` of the model follow from the data.',
        (("[data]", TextData), ("[loss]", CrossEntropy), ("[model]", TextConfig)),
    ),
)

RULE_NAMES = (
    f"The score rule: {', '.join(f'`{name}`' for name in RULES if ':' not in name)}, or your own as "
    "`package.module:Name`; `qtn` and `none` where the family has them."
)
"""What `attention` may be: the code of the configurations names the table instead of its entries."""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, text, tables in SECTIONS:
        parts.append(f"\n## {title}\n")
        if text:
            parts.append(f"\n{text}\n")
        for name, table in tables:
            heading = name if name.startswith("At") else f"`{name}`"
            rows = [[f"`{key}`", *cells] for key, *cells in _rows(table)]
            parts.append(f"\n### {heading}\n\n{_summary(table)}\n\n")
            parts.append(markdown.table(["key", "type", "default", "meaning"], rows))
    return "".join(parts)


def _summary(table: type) -> str:
    text = inspect.cleandoc(table.__doc__ or "").split("\n\n")
    return "\n\n".join(paragraph for paragraph in text if not paragraph.startswith(("Args:", ">>>")))


def _rows(table: type) -> Iterator[tuple[str, str, str, str]]:
    notes = _notes(table)
    for name, kind, default in _entries(table):
        if isinstance(default, BaseModel) or (is_dataclass(default) and not isinstance(default, type)):
            shown = "its defaults"
        else:
            shown = (
                "**required**" if default is MISSING else f"`{json.dumps(default)}`" if default is not None else "none"
            )
        meaning = RULE_NAMES if name == "attention" else notes[name]
        yield name, kind, shown, f"{meaning[0].upper()}{meaning[1:].removesuffix('.')}."


def _entries(table: Any) -> Iterator[tuple[str, str, Any]]:
    """Name, type as it is read, and default of every key."""
    written = _annotations(table)
    if issubclass(table, BaseModel):
        for name, field in table.model_fields.items():
            if not issubclass(table, Recipe) or not _is_table(field.annotation):
                missing = field.default is PydanticUndefined
                yield name, _words(written[name]), MISSING if missing else field.default
        return
    for entry in fields(table):
        yield entry.name, _words(written[entry.name]), entry.default


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _annotations(table: type) -> dict[str, str]:
    return {name: text for base in reversed(table.__mro__) for name, text, _ in _statements(base)}


def _notes(table: type) -> dict[str, str]:
    """The description of each key in the code: the string below it, or the comment after it."""
    return {name: note for base in reversed(table.__mro__) for name, _, note in _statements(base) if note}


def _statements(table: type) -> Iterator[tuple[str, str, str]]:
    """Name, annotation and note of every field that a class of ours defines."""
    if not table.__module__.startswith("hamiltone"):
        return
    source = textwrap.dedent(inspect.getsource(table))
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    lines = source.splitlines()
    for node, after in zip(definition.body, [*definition.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        note = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            note = " ".join(str(after.value.value).split())  # a row of a table is one line
        elif comment := re.search(r"  # (.*)$", lines[node.lineno - 1]):
            note = comment.group(1)
        elif described := re.search(r'description="([^"]*)"', lines[node.lineno - 1]):
            note = described.group(1)
        yield node.target.id, ast.unparse(node.annotation), note


_WORDS = {
    "PositiveInt": "integer > 0",
    "NonNegativeInt": "integer ≥ 0",
    "PositiveFloat": "number > 0",
    "NonNegativeFloat": "number ≥ 0",
    "int": "integer",
    "float": "number",
    "bool": "true or false",
    "str": "text",
    "Path": "path",
    "BlockKind": "`transformer`, `conformer` or `none`",
    "PlainVariety": "table",
    "RichVariety": "table",
    "Augmented": "table",
}


def _words(annotation: str) -> str:
    """A type in words: ``tuple[Path, ...]`` is a list of paths."""
    annotation = annotation.removesuffix(" | None")
    if choices := re.fullmatch(r"Literal\[(.*)\]", annotation):
        *others, last = [f"`{choice}`" for choice in re.findall(r"'([^']*)'", choices.group(1))]
        return f"{', '.join(others)} or {last}" if others else last
    if several := re.fullmatch(r"tuple\[(\w+), \.\.\.\]", annotation):
        return f"list: {_words(several.group(1))}"
    if exact := re.fullmatch(r"tuple\[([\w, ]+)\]", annotation):
        kinds = exact.group(1).split(", ")
        return f"list of {len(kinds)}: {_words(kinds[0])}"
    return _WORDS[annotation]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
