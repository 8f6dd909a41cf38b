"""Processes of benchmarks, which take seconds to start."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hamiltone.benchmark.child import call_in_child


def measure_in_child(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    """Let a benchmark start a process only for its first measurement of this name; others are taken in this one.

    Arguments and results go through JSON either way.
    """
    started = False

    def measure(function: Callable[..., Any], **arguments: Any) -> Any:
        nonlocal started
        text = json.dumps(arguments)
        if not started and f'"{name}"' in text:
            started = True
            return call_in_child(function, **arguments)
        return json.loads(json.dumps(function(**json.loads(text))))

    monkeypatch.setattr(f"{module}.call_in_child", measure)
