"""Table 14 and the diagrams: what cannot be run here keeps its rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.result import Result, Row, row
from hamiltone.paper.study import Study


def table14(study: Study) -> Result:
    """Gradient correlation on CIFAR-100."""
    why = "It needs an image classifier trained with Hamilton scores; Table 8 has the same analysis for speech."
    command = "hamiltone analyse gradients --model runs/cifar100/best.safetensors"
    return Result(
        "table14", "Correlation of gradient norms, CIFAR-100", _rows("table14"), "not reproduced", why, command
    )


def figure1(study: Study) -> Result:
    """A diagram."""
    why = "A diagram of the two attentions; src/hamiltone/nn/scores.py is the same in code."
    return Result("figure1", "Two attentions", (), "not reproduced", why)


def figure6(study: Study) -> Result:
    """A diagram."""
    why = "A diagram of the model; docs/walkthrough.md goes through it with shapes."
    return Result("figure6", "Architecture", (), "not reproduced", why)


def _rows(name: str) -> tuple[Row, ...]:
    return tuple(row(group, quantity, number) for group, quantity, number in _numbers(reference()[name]))


def _numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, str, Printed]]:
    for group, numbers in table.items():
        for quantity, number in numbers.items():
            yield group, quantity.replace("_", " "), number
