import json

import numpy as np
import pytest
from typer.testing import CliRunner

from children import measure_in_child
from hamiltone.benchmark.runtime import Way, prepare, ways
from hamiltone.cli import app


def test_streams_are_compared_where_a_model_can():
    chosen = ways(["compact", "live"], [1])
    assert [(way.model, way.what) for way in chosen if way.backend == "onnx"] == [
        ("compact", "recording"),
        ("live", "recording"),
        ("live", "stream"),
    ]
    assert [way._replace(backend="torch") for way in chosen if way.backend == "onnx"] == [
        way for way in chosen if way.backend == "torch"
    ]


@pytest.mark.parametrize(("model", "what"), [("compact", "recording"), ("live", "recording"), ("live", "stream")])
def test_both_back_ends_compute_the_same(model, what):
    noise = (0.1 * np.random.default_rng(0).standard_normal(8000)).astype(np.float32)
    by_onnx, by_torch = (prepare(Way(model, what, backend, 1))(noise) for backend in ("onnx", "torch"))
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-4)


def test_the_command_prints_a_row_for_both_back_ends(monkeypatch):
    measure_in_child(monkeypatch, "hamiltone.benchmark.runtime", "onnx")
    arguments = ["bench", "runtime", "--models", "compact", "--threads", "1", "--audio", "0.5", "--seconds", "0.1"]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    onnx, torch = json.loads(result.stdout)
    assert (onnx["backend"], torch["backend"]) == ("onnx", "torch")
    assert torch["ratio"] == 1 and onnx["ratio"] > 0
    assert all(row["rtf_p10"] <= row["rtf"] <= row["rtf_p90"] and row["peak_mb"] >= 0 for row in (onnx, torch))


def test_a_model_without_a_graph_is_refused():
    result = CliRunner().invoke(app, ["bench", "runtime", "--models", "toy"])
    assert type(result.exception).__name__ == "InputError"
