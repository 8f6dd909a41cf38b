import json

import pytest
from typer.testing import CliRunner

from hamiltone.cli import app
from hamiltone.errors import InputError


def run(*arguments: str):
    result = CliRunner().invoke(app, ["analyse", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_subspace_and_cost_as_json():
    assert run("subspace", "--d-in", "6")["dimension"] == 16
    found = run("cost", "--lengths", "512")
    assert [row["macs"] for row in found["layers"]] == [134_217_728, 335_544_320]


def test_agreement_and_similarity_of_the_bundled_pair_as_json():
    top1, top5 = run("agreement", "--utterances", "2")
    assert (
        (top1["count"], top5["count"]) == (1, 5) and 0 < top1["overall"]["mean"] < 1 and top1["overall"]["groups"] == 2
    )
    found = run("similarity", "--utterances", "2")
    assert found["ks"]["groups"] == 2 and len(found["formulas"]) == 2


def test_gradients_as_json():
    found = run("gradients", "--trials", "3", "--dim", "4", "--heads", "2")
    assert found["norms"]["setting"]["trials"] == 3 and len(found["norms"]["hamilton"]) == 4
    assert "before training" in found["correlations"]


def test_a_model_with_shared_scores_has_no_maps_to_compare():
    with pytest.raises(InputError, match="has shared scores"):
        CliRunner().invoke(app, ["analyse", "agreement", "--model", "toy"], catch_exceptions=False)


def test_every_analysis_explains_and_prints_itself():
    for name in ("agreement", "similarity", "gradients", "subspace", "cost"):
        result = CliRunner().invoke(app, ["analyse", name, "--help"])
        assert result.exit_code == 0 and "Example" in result.stdout
    assert "joint rank" in CliRunner().invoke(app, ["analyse", "subspace"]).stdout
