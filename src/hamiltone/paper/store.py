"""Results as JSON files, and back as the same types."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from hamiltone.atomic import write_text
from hamiltone.benchmark.machine import Machine
from hamiltone.errors import InputError
from hamiltone.paper.results import TYPES, Result

T = TypeVar("T")
Kind = TypeVar("Kind", bound=Result, covariant=True)


@dataclass(frozen=True)
class ModelFacts:
    """What a checkpoint says about itself."""

    name: str
    attention: str
    seed: int | None
    step: int | None
    digest: str


@dataclass(frozen=True)
class Made(Machine):
    """How a result came about: the machine, the command as given, the data and the models."""

    command: str
    quick: bool
    seconds: float
    data: str
    models: tuple[ModelFacts, ...]


@dataclass(frozen=True)
class Stored(Generic[Kind]):
    """A result with its name and how it was made."""

    name: str
    made: Made
    result: Kind


Evidence = Mapping[str, Stored[Result]]
"""Results by the name of their measurement."""


def folder_of(results: Path, *, quick: bool) -> Path:
    """Where results go: quick ones have a folder of their own, so that they never replace full ones."""
    return results / "quick" if quick else results


def write_result(results: Path, stored: Stored[Result]) -> Path:
    """Store a result below a folder, which is created if needed; the file appears whole or not at all."""
    path = folder_of(results, quick=stored.made.quick) / f"{stored.name}.json"
    content = {"name": stored.name, "made": asdict(stored.made), "result": asdict(stored.result)}
    text = json.dumps(_without_nan(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    write_text(path, text)
    return path


def read_result(path: Path) -> Stored[Result]:
    """Read what `write_result` wrote."""
    try:
        content = json.loads(path.read_text("utf-8"))
        made: Made = from_plain(Made, content["made"])
        return Stored(content["name"], made, from_plain(TYPES[content["name"]], content["result"]))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path} was not written by this version of hamiltone reproduce") from None


def data_of(path: Path) -> str:
    """What a stored result was measured on, even one of another version; empty if there is none."""
    try:
        return str(json.loads(path.read_text("utf-8"))["made"]["data"])
    except (OSError, ValueError, KeyError, TypeError):  # nothing that must be kept
        return ""


def read_results(results: Path) -> dict[str, Stored[Result]]:
    """All stored results by name: the full run if there is one, else the quick one."""
    found = {}
    for name in TYPES:
        for quick in (False, True):
            path = folder_of(results, quick=quick) / f"{name}.json"
            if path.exists():
                found[name] = read_result(path)
                break
    return found


def _without_nan(value: Any) -> Any:
    """NaN as null, since JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def from_plain(kind: type[T], value: Any) -> T:
    """A value of JSON as a dataclass, a container of them, or a plain type; null as a float is NaN.

    >>> from_plain(tuple[float, ...], [1, None])
    (1.0, nan)
    """
    decoded: T = _from_plain(kind, value)
    return decoded


def _from_plain(kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        (other,) = (one for one in arguments if one is not NoneType)
        return None if value is None else _from_plain(other, value)
    if origin is dict:
        return {key: _from_plain(arguments[1], entry) for key, entry in value.items()}
    if origin is tuple:
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_from_plain(one, entry) for one, entry in zip(kinds, value, strict=True))
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        if unknown := value.keys() - {field.name for field in fields(kind)}:
            raise KeyError(f"unknown {', '.join(sorted(unknown))}")
        return kind(**{field.name: _from_plain(hints[field.name], value[field.name]) for field in fields(kind)})  # type: ignore[operator]
    if kind is float:
        return math.nan if value is None else float(value)
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value
