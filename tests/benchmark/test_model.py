import json

import pytest
import torch
from typer.testing import CliRunner

from children import measure_in_child
from hamiltone.benchmark.model import Execution, Unfused, executions, make
from hamiltone.cli import app
from hamiltone.nn import QAttention


def test_every_variant_of_a_rule_computes_the_same_function():
    waveform = torch.randn(1, 4_000)
    chosen = executions("compact", ["hamilton"])
    assert {(variant.path, variant.folded) for variant in chosen} == {
        ("fused", True),
        ("fused", False),
        ("explicit", True),
    }
    with torch.no_grad():
        outputs = [make(variant)(waveform) for variant in chosen]
    for output in outputs[1:]:
        torch.testing.assert_close(output, outputs[0], atol=1e-4, rtol=1e-4)


def test_the_explicit_variant_never_fuses():
    model = make(Execution("compact", "hamilton", "explicit", True))
    rules = [module.rule for module in model.modules() if isinstance(module, QAttention)]
    assert rules and all(isinstance(rule, Unfused) for rule in rules)


def test_the_command_prints_a_row_for_every_variant_and_length(monkeypatch):
    measure_in_child(monkeypatch, "hamiltone.benchmark.model", "fused")
    arguments = ["bench", "model", "--preset", "compact", "--attention", "shared", "--seconds", "0.5", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [(row["preset"], row["attention"], row["folded"], row["seconds"]) for row in rows] == [
        ("compact", "shared", True, 0.5),
        ("compact", "shared", False, 0.5),
    ]
    assert all(row["rtf"] > 0 and row["rtf_p10"] <= row["rtf"] <= row["rtf_p90"] for row in rows)
    assert all(row["peak_mb"] >= 0 for row in rows)


@pytest.mark.parametrize("arguments", [["--preset", "nonsense"], ["--attention", "qtn"], ["--seconds", "0"]])
def test_wrong_arguments_are_refused_before_any_measurement(arguments):
    result = CliRunner().invoke(app, ["bench", "model", *arguments])
    assert result.exit_code != 0
    assert type(result.exception).__name__ == "InputError"
