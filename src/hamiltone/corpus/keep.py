"""Expressions that choose rows, such as ``dnsmos_ovrl > 2.8 and seconds >= 1``; they are parsed, never evaluated."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hamiltone.errors import InputError

Test = Callable[[dict[str, Any]], bool]

_DEEPEST = 50  # nested parentheses and negations

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<name>[A-Za-z_][\w.-]*)|(?P<sign><=|>=|==|!=|<|>|\(|\)))"
)


@dataclass(frozen=True)
class Filter:
    """A parsed expression, and the fields that it names."""

    text: str
    fields: frozenset[str]
    test: Test

    def __call__(self, row: dict[str, Any]) -> bool:
        """Whether to keep a row. A comparison with a field that is missing, or of another type, is false."""
        return self.test(row)


def parse_filter(text: str) -> Filter:
    """Read an expression: comparisons of a field with a number or a 'text', joined by and, or, not and parentheses.

    >>> keep = parse_filter("dnsmos_ovrl > 2.8 and not (lang == 'de' or seconds < 1)")
    >>> sorted(keep.fields), keep({"dnsmos_ovrl": 3.1, "lang": "en", "seconds": 2}), keep({"dnsmos_ovrl": 2.0})
    (['dnsmos_ovrl', 'lang', 'seconds'], True, False)
    """
    parser = _Parser(text)
    test = parser.any_of()
    parser.end()
    return Filter(text, frozenset(parser.fields), test)


class _Parser:
    """A recursive-descent parser; `not` binds tighter than `and`, which binds tighter than `or`."""

    def __init__(self, text: str) -> None:
        self.text, self.fields, self._position, self._depth = text, set[str](), 0, 0
        self._tokens: list[tuple[str, str]] = []
        end = len(text.rstrip())
        while self._position < end:
            match = _TOKEN.match(text, self._position)
            if not match:
                raise self._error(text[self._position :].strip())
            self._tokens.append((str(match.lastgroup), match.group(str(match.lastgroup))))
            self._position = match.end()

    def any_of(self) -> Test:
        tests = [self._all_of()]
        while self._take("or"):
            tests.append(self._all_of())
        return lambda row: any(test(row) for test in tests)

    def _all_of(self) -> Test:
        tests = [self._one()]
        while self._take("and"):
            tests.append(self._one())
        return lambda row: all(test(row) for test in tests)

    def _one(self) -> Test:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InputError(f"--keep takes parentheses and negations nested at most {_DEEPEST} deep")
        test = self._group()
        self._depth -= 1
        return test

    def _group(self) -> Test:
        if self._take("not"):
            test = self._one()
            return lambda row: not test(row)
        if self._take("("):
            test = self.any_of()
            if not self._take(")"):
                raise self._error("a missing )")
            return test
        return self._comparison()

    def _comparison(self) -> Test:
        name = self._next("name")
        sign = self._next("sign")
        if sign not in _COMPARE:
            raise self._error(sign)
        kind, value = self._tokens.pop(0) if self._tokens else ("", "the end")
        if kind not in ("number", "text"):
            raise self._error(value)
        wanted: float | str = float(value) if kind == "number" else value[1:-1]
        self.fields.add(name)
        compare = _COMPARE[sign]

        def test(row: dict[str, Any]) -> bool:
            found = row.get(name)
            alike = isinstance(found, str) if isinstance(wanted, str) else isinstance(found, int | float)
            return alike and compare(found, wanted)

        return test

    def end(self) -> None:
        """Raise if anything is left."""
        if self._tokens:
            raise self._error(self._tokens[0][1])

    def _take(self, token: str) -> bool:
        taken = bool(self._tokens) and self._tokens[0][1] == token
        if taken:
            self._tokens.pop(0)
        return taken

    def _next(self, kind: str) -> str:
        if not self._tokens or self._tokens[0][0] != kind:
            raise self._error(self._tokens[0][1] if self._tokens else "the end")
        return self._tokens.pop(0)[1]

    def _error(self, found: str) -> InputError:
        return InputError(
            f"--keep takes comparisons such as 'dnsmos_ovrl > 2.8 and seconds >= 1'; in {self.text!r}, "
            f"{found!r} does not fit"
        )
