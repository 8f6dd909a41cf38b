import json

import pytest
import torch
from typer.testing import CliRunner

from children import measure_in_child
from hamiltone.benchmark.attention import RealAttention, method_macs, methods
from hamiltone.cli import app
from hamiltone.errors import InputError

TABLE_9 = {  # the paper prints three digits
    512: (134e6, 336e6),
    1024: (537e6, 1.34e9),
    2048: (2.15e9, 5.37e9),
    4096: (8.59e9, 21.5e9),
}


def test_macs_are_those_of_table_9():
    for length, (shared, hamilton) in TABLE_9.items():
        assert method_macs("shared", length) == method_macs("real", length) == 8 * length**2 * 64
        assert method_macs("hamilton", length) == 20 * length**2 * 64
        assert f"{method_macs('shared', length):.2e}" == f"{shared:.2e}"
        assert f"{method_macs('hamilton', length):.2e}" == f"{hamilton:.2e}"


def test_every_rule_is_measured_in_each_way_it_has_and_shared_scores_always():
    assert methods() == [
        ("shared", "fused"),
        ("shared", "explicit"),
        ("hamilton", "fused"),
        ("hamilton", "explicit"),
        ("real", "fused"),
    ]
    assert [name for name, _ in methods(["headsplit"])] == ["shared", "shared", "headsplit", "headsplit", "real"]


def test_the_real_layer_is_torchs_own_attention():
    ours, theirs = RealAttention(4, 2), torch.nn.MultiheadAttention(16, 2, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.out_proj.bias.copy_(ours.out.bias)
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0])


def test_the_command_prints_a_row_for_every_method(monkeypatch):
    measure_in_child(monkeypatch, "hamiltone.benchmark.attention", "explicit")
    result = CliRunner().invoke(app, ["bench", "attention", "--lengths", "16", "--seconds", "0", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [(row["length"], row["method"], row["path"]) for row in rows] == [(16, *method) for method in methods()]
    assert rows[0].keys() >= {"length", "method", "path", "macs", "ms", "peak_mb"}
    assert all(row["ms"] > 0 and row["peak_mb"] >= 0 for row in rows)


def test_lengths_are_whole_numbers():
    with pytest.raises(InputError, match="--lengths takes comma-separated whole numbers"):
        CliRunner().invoke(app, ["bench", "attention", "--lengths", "16.5"], catch_exceptions=False)
