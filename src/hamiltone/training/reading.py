"""From a TOML file and overrides to a recipe, and back. Every error is one line that says what to do."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from hamiltone.errors import InputError
from hamiltone.nn import register_rule
from hamiltone.training.config import Recipe, Run

R = TypeVar("R", bound=Recipe)
D = TypeVar("D")


def read_recipe(path: Path, overrides: Iterable[str], kinds: Mapping[str, type[R]]) -> R:
    """The recipe in a TOML file, its keys replaced by overrides such as ``optimiser.lr=1e-4``.

    `kinds` says which recipe belongs to the file's `task`. Without a `run.folder` the run goes to ``runs/<file name>``.
    """
    content = read_toml(path)
    for override in overrides:
        _set(content, *_parse_override(override))
    kind = kinds.get(content.get("task", ""))
    if kind is None:
        raise InputError(f"{path}: task must be one of {', '.join(kinds)}, got {content.get('task')!r}")
    run = content.setdefault("run", {})
    if isinstance(run, dict):
        run.setdefault("folder", f"runs/{path.stem}")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {_one_line(error, kind)}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; an `InputError` says why it cannot be read."""
    try:
        return _loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the recipe {path}: {error.strerror}") from None
    except ValueError as error:  # UTF-8, TOML or a number may be wrong
        raise InputError(f"{path} is not valid TOML: {error}") from None


def _loads(text: str) -> dict[str, Any]:
    """The content of TOML, without whole numbers that Python may be unable to print, and without null characters."""
    content = tomllib.loads(text)
    found: list[Any] = [content]
    while found:
        value = found.pop()
        if isinstance(value, dict | list):
            found += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and abs(value) >= 10**30:
            raise ValueError("it holds a number of more than 30 digits")
        elif isinstance(value, str) and "\0" in value:
            raise ValueError("it holds a null character, which no name of a file may have")
    return content


def to_toml(recipe: Recipe) -> str:
    """The recipe as TOML, with every key; `read_recipe` reads it back to the same."""
    return _toml(recipe.model_dump(mode="json", exclude_none=True))


def is_complete(path: Path) -> bool:
    """Whether a file looks as `to_toml` writes it, with all keys of ``[run]`` and without comments."""
    content = read_toml(path)
    run = content.get("run")
    return isinstance(run, dict) and Run.model_fields.keys() <= run.keys() and _toml(content) == path.read_text("utf-8")


def flat(recipe: Recipe) -> dict[str, Any]:
    """Every key of a recipe by its path, such as ``optimiser.lr``."""
    return flat_table(recipe.model_dump(mode="json", exclude_none=True))


def flat_table(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of nested tables by their paths.

    >>> flat_table({"a": 1, "b": {"c": 2}})
    {'a': 1, 'b.c': 2}
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        values |= flat_table(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return values


def overlay(base: D, table: Mapping[str, Any]) -> D:
    """A copy of a frozen dataclass with the values of a table, checked against the types of its fields."""
    if not is_dataclass(base) or isinstance(base, type):
        raise TypeError(f"expected an instance of a dataclass, got {base!r}")
    kind, known = type(base), [field.name for field in fields(base)]
    for name in table:
        if name not in known:
            raise ValueError(f"there is no key {name}{suggestion(name, known)}")
    try:
        return TypeAdapter(kind).validate_python({name: getattr(base, name) for name in known} | dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))  # empty where the dataclass itself refused its values
        raise ValueError(f"{where}: {_reason(first)}" if where else _reason(first)) from None


def use_rule(table: Mapping[str, Any]) -> None:
    """Import the score rule that a recipe names as ``package.module:Name``; unlike checkpoints, recipes are trusted."""
    name = table.get("attention")
    if isinstance(name, str) and ":" in name:
        register_rule(name)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the most similar one, or all known ones.

    >>> suggestion("learning_rat", ["learning_rate", "betas"])
    '; did you mean learning_rate?'
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; choose from {', '.join(known)}"


def _parse_override(text: str) -> tuple[list[str], Any]:
    """``a.b=value``: the value is TOML, or else plain text, so that words need no quotes."""
    key, equals, value = text.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise InputError(f"expected key=value such as optimiser.lr=1e-4, got {text!r}")
    try:
        return names, _loads(f"value = {value}")["value"]
    except ValueError:
        return names, value.strip()


def _set(content: dict[str, Any], names: list[str], value: Any) -> None:
    *tables, last = names
    for name in tables:
        content = content.setdefault(name, {})
        if not isinstance(content, dict):
            raise InputError(f"{'.'.join(names)}: {name} is a value, not a table")
    content[last] = value


def _one_line(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first error, an unknown key before any other: a missing key is often a misspelt one."""
    errors = sorted(error.errors(), key=lambda entry: entry["type"] != "extra_forbidden")
    first, more = errors[0], f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    table, path = _walk(kind, first["loc"])
    if first["type"] == "extra_forbidden":
        *_, name = path
        return f"there is no key {'.'.join(path)}{suggestion(name, table.model_fields)}{more}"
    return f"{'.'.join(path)}: {_reason(first)}{more}"


def _reason(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "union_tag_invalid":
        return f"kind must be one of {error['ctx']['expected_tags']}, got {error['ctx']['tag']!r}"
    return error["msg"].removeprefix("Value error, ").replace("Input should be", "should be") + (
        f", got {error['input']!r:.200}" if isinstance(error["input"], str | int | float | bool) else ""
    )


def _walk(kind: type[BaseModel], location: tuple[int | str, ...]) -> tuple[type[BaseModel], list[str]]:
    """The table that holds the last key of a location, and the path as it is written in TOML.

    Where a key chooses between tables, pydantic puts the choice into the location; that is not a key and is left out.
    """
    path: list[str] = []
    choices: tuple[type[BaseModel], ...] = ()
    for name in map(str, location):
        chosen = next((choice for choice in choices if name in get_args(choice.model_fields["kind"].annotation)), None)
        choices = ()
        if chosen:
            kind = chosen
            continue
        path.append(name)
        annotation = kind.model_fields[name].annotation if name in kind.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            kind = annotation if len(path) < len(location) else kind
        elif get_origin(annotation) is UnionType:
            choices = tuple(part for part in get_args(annotation) if hasattr(part, "model_fields"))
    return kind, path


def _toml(table: Mapping[str, Any]) -> str:
    return "\n".join(_toml_lines(table)) + "\n"


def _toml_lines(table: Mapping[str, Any], name: str = "") -> Iterator[str]:
    if name:
        yield f"\n[{name}]"
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    for key, value in table.items():
        if key not in tables:
            yield f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}"
    for key, value in tables.items():
        yield from _toml_lines(value, f"{name}.{key}" if name else key)
