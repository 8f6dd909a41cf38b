"""The numbers that the paper prints, with the digits it prints."""

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Printed:
    """One printed number; `decimals` counts the digits after its point, `spread` is its interval or deviation."""

    value: float
    decimals: int = 0
    spread: str = ""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:,.{self.decimals}f}"


@cache
def reference() -> dict[str, Any]:
    """All tables by name, as nested dictionaries of `Printed` numbers and labels.

    >>> number = reference()["table2"]["qconformer-shared"]["pesq"]
    >>> str(number), number.spread
    ('3.18', '3.13 to 3.22')
    """
    text = (Path(__file__).parent / "reference.toml").read_text("utf-8")
    tables: dict[str, Any] = _convert(tomllib.loads(text, parse_float=Decimal))
    return tables


def _convert(entry: Any) -> Any:
    if isinstance(entry, dict) and "value" in entry:
        spread = f"± {entry['std']}" if "std" in entry else f"{entry['low']} to {entry['high']}"
        return Printed(float(entry["value"]), _decimals(entry["value"]), spread)
    if isinstance(entry, dict):
        return {key: _convert(value) for key, value in entry.items()}
    return entry if isinstance(entry, str) else Printed(float(entry), _decimals(entry))


def _decimals(number: Decimal | int) -> int:
    exponent = Decimal(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
