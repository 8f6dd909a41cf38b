import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest

from evidence import MADE, RESULTS, ROOT, around, twins
from hamiltone.errors import InputError
from hamiltone.paper.measure.speech import read_reports
from hamiltone.paper.pages.items import ITEMS, expand, measurements
from hamiltone.paper.results import TYPES, LayerSpeed, LayerSpeeds, Quality, SystemScores
from hamiltone.paper.store import ModelFacts, Stored, from_plain, read_result, read_results, write_result

SPEEDS = LayerSpeeds((LayerSpeed(512, {"shared": 1.5}, around(2.0)),))


def stored(name, result, *, quick=False):
    from dataclasses import replace

    return Stored(name, replace(MADE, quick=quick, models=(ModelFacts("toy", "shared", 0, None, "ab"),)), result)


@pytest.mark.parametrize(("name", "result"), [("layer-speed", SPEEDS), ("ablation", twins())])
def test_a_result_survives_its_file(tmp_path, name, result):
    one = stored(name, result)
    assert read_result(write_result(tmp_path, one)) == one


def test_a_missing_interval_stays_missing(tmp_path):
    gap = Quality((SystemScores("x", 1, {"pesq": around(2.0, math.nan)}),), {})
    path = write_result(tmp_path, stored("voicebank", gap))
    assert json.loads(path.read_text())["result"]["systems"][0]["scores"]["pesq"]["low"] is None
    assert not read_result(path).result.systems[0].scores["pesq"].has_interval


def test_a_quick_result_never_takes_the_place_of_a_full_one(tmp_path):
    full, quick = stored("layer-speed", SPEEDS), stored("layer-speed", LayerSpeeds(()), quick=True)
    write_result(tmp_path, quick)
    assert read_results(tmp_path)["layer-speed"] == quick
    write_result(tmp_path, full)
    write_result(tmp_path, quick)
    assert read_results(tmp_path)["layer-speed"] == full
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")) == [
        "layer-speed.json",
        "quick/layer-speed.json",
    ]


def test_the_files_of_others_and_of_other_versions_are_refused(tmp_path):
    path = write_result(tmp_path, stored("layer-speed", SPEEDS))
    content = json.loads(path.read_text())
    for broken in (
        {"name": "layer-speed"},
        content | {"result": {}},
        content | {"result": {"lengths": [], "x": 1}},
        [],
    ):
        path.write_text(json.dumps(broken))
        with pytest.raises(InputError, match="was not written by this version"):
            read_result(path)


def test_what_is_no_number_is_refused():
    with pytest.raises((TypeError, ValueError)):
        from_plain(float, "many")
    with pytest.raises(TypeError):
        from_plain(int, None)


def test_the_results_of_this_repository_name_a_commit_and_a_command_that_makes_them():
    for name, one in read_results(RESULTS).items():
        assert re.fullmatch(r"[0-9a-f]{7,}", one.made.commit), name
        program, verb, *words = one.made.command.split()
        named = expand(word for word in words if word in ITEMS | TYPES)
        assert (program, verb) == ("hamiltone", "reproduce") and name in measurements(named), name


def test_results_were_made_by_commits_that_are_in_the_history():
    """So that anyone can look at the code that measured a number."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git repository")

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("the history is not here")
    for name, one in read_results(RESULTS).items():
        assert git("merge-base", "--is-ancestor", one.made.commit, "HEAD").returncode == 0, (name, one.made.commit)


def test_table_2_is_made_of_the_reports_that_lie_beside_it():
    kept = {one.system: one.scores for one in read_results(RESULTS)["voicebank"].result.systems}
    reports = dict(read_reports(RESULTS))
    assert kept.keys() == reports.keys(), "hamiltone reproduce voicebank pages"
    for name, report in reports.items():
        means = {metric: float(np.nanmean(report.values(metric))) for metric in kept[name]}
        assert means == pytest.approx({metric: one.mean for metric, one in kept[name].items()}), name


def test_the_results_of_this_repository_can_be_read():
    assert {"cost", "theorems", "agreement", "outputs", "voicebank", "images", "text"} <= read_results(RESULTS).keys()
