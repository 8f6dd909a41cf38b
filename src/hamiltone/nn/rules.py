"""The score rules by name: the one table that configurations, costs, benchmarks and analyses read.

| name           | rule                         | maps | products | scale      |
|----------------|------------------------------|------|----------|------------|
| `shared`       | `SharedScore()`              | 1    | 4        | 1/√(4·d_h) |
| `hamilton`     | `HamiltonScore()`            | 4    | 16       | 1/√d_h     |
| `hamilton-tay` | `HamiltonScore(Scale.REALS)` | 4    | 16       | 1/√(4·d_h) |
| `headsplit`    | `ComponentScore()`           | 4    | 4        | 1/√d_h     |

The last three columns are attributes of the rule itself. A rule of your own is called ``package.module:Name`` and joins
the table only through `register_rule`: a name in a checkpoint imports nothing.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from hamiltone.nn.headsplit import ComponentScore
from hamiltone.nn.scores import HamiltonScore, Scale, ScoreRule, SharedScore

RULES: dict[str, Callable[[], ScoreRule]] = {
    "shared": SharedScore,
    "hamilton": HamiltonScore,
    "hamilton-tay": partial(HamiltonScore, Scale.REALS),
    "headsplit": ComponentScore,
}
COMPARED = ("shared", "hamilton")
"""The two that the paper compares."""
SCALES = ("hamilton", "hamilton-tay")
"""Hamilton attention with 1/√d_h, as Eq. 14 prints it, and with 1/√(4·d_h), the scale of the shared score."""


def make_rule(name: str) -> ScoreRule:
    """The rule of that name; one from outside hamiltone must have been registered.

    >>> rule = make_rule("hamilton-tay")
    >>> rule.maps, rule.products, rule.scale.value
    (4, 16, '1/√(4·d_h)')
    """
    if name not in RULES:
        raise ValueError(unknown_rule(name))
    return RULES[name]()


def register_rule(name: str) -> None:
    """Import a rule of your own, ``package.module:Name``, so that configurations and checkpoints can name it.

    `Name` is a subclass of `ScoreRule`, or any other callable that returns a rule without arguments. The module is
    searched for on Python's path, and then in the working directory.
    """
    if name in RULES:
        return
    if not _is_outside(name):
        raise ValueError(f"expected a rule as package.module:Name, got {name!r}")
    module, _, attribute = name.partition(":")
    make = getattr(_import(module, name), attribute, None)
    if not callable(make):
        raise ValueError(f"the module {module} has no rule {attribute}")
    _check(make(), name)
    RULES[name] = make


def registered_rules() -> tuple[str, ...]:
    """The names of the rules that `register_rule` added; a child process needs them too."""
    return tuple(name for name in RULES if ":" in name)


def unknown_rule(name: str, *others: str) -> str:
    """The error message for a name that is not in the table; `others` are further valid names."""
    if _is_outside(name):
        return (
            f"the rule {name!r} is not part of hamiltone and is only imported on request: if you trust it, "
            f"use hamiltone --rule {name} ..., or call hamiltone.nn.register_rule({name!r})"
        )
    return (
        f"attention must be one of {', '.join((*RULES, *others))}, or a rule of your own as package.module:Name, "
        f"got {name[:80]!r}"
    )


def _is_outside(name: str) -> bool:
    """Whether a name has the form ``package.module:Name``, which is also safe to print."""
    module, _, attribute = name.partition(":")
    return attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _import(module: str, name: str) -> Any:
    before = list(sys.path)
    sys.path.append(str(Path.cwd()))
    try:
        return import_module(module)
    except ImportError as error:
        raise ValueError(f"the rule {name} cannot be imported: {error}") from error
    finally:
        sys.path[:] = before


def _check(rule: Any, name: str) -> None:
    if not isinstance(rule, ScoreRule):
        raise ValueError(f"{name} must make a hamiltone.nn.ScoreRule, got {type(rule).__name__}")
    if rule.maps not in (1, 4):
        raise ValueError(f"{name} must have 1 map or 4 maps, got {rule.maps}")
    products = getattr(rule, "products", None)
    if not isinstance(products, int) or products < 1:
        raise ValueError(f"{name} must say how many real products scoring a pair takes: products = ...")
