"""Which results a measurement may replace."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hamiltone.errors import InputError
from hamiltone.paper import measure as room
from hamiltone.paper.measure.study import Options, Study
from hamiltone.paper.pair import synthetic_utterances
from hamiltone.paper.results import LayerSpeeds


@pytest.fixture(autouse=True)
def analyses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One measurement that looks at speech and one that does not."""

    def listen(study: Study) -> LayerSpeeds:
        study.utterances()
        return LayerSpeeds(())

    monkeypatch.setattr(Study, "_utterances", synthetic_utterances(2, 0.3))
    monkeypatch.setitem(room.MEASUREMENTS, "agreement", listen)
    monkeypatch.setitem(room.MEASUREMENTS, "layer-speed", lambda study: LayerSpeeds(()))


def made(path: Path) -> tuple[bool, str]:
    content = json.loads(path.read_text())["made"]
    return content["quick"], content["data"]


def measure(results: Path, **options: object) -> None:
    list(room.measure(["layer-speed", "agreement"], Options(results=results, **options)))


def test_fewer_utterances_than_a_full_run_make_a_quick_result(tmp_path: Path) -> None:
    measure(tmp_path, utterances=64)
    full = (tmp_path / "agreement.json").read_bytes()
    assert made(tmp_path / "agreement.json") == (False, "2 utterances of 0.3 s of synthetic speech")
    measure(tmp_path, utterances=63)
    assert made(tmp_path / "quick" / "agreement.json")[0]
    assert (tmp_path / "agreement.json").read_bytes() == full
    assert made(tmp_path / "layer-speed.json") == (False, "")  # no speech: a full result
    assert not (tmp_path / "quick" / "layer-speed.json").exists()


@pytest.mark.parametrize(("first", "second"), [(Path("VoiceBank"), None), (None, Path("VoiceBank"))])
def test_a_full_result_on_other_speech_is_not_replaced(tmp_path: Path, first: Path | None, second: Path | None) -> None:
    measure(tmp_path, data=first)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=r"agreement\.json is a result on .* another") as caught:
        measure(tmp_path, data=second)
    assert ("give --data" in str(caught.value)) == (second is None)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before  # not even what comes first
    measure(tmp_path / "other", data=second)
    measure(tmp_path, data=second, quick=True)
    measure(tmp_path, data=second, utterances=2)
    assert (tmp_path / "agreement.json").read_bytes() == before[tmp_path / "agreement.json"]
    measure(tmp_path, data=first)


@pytest.mark.parametrize("content", ["", "[]", "5", '{"made": {}}', '{"made": {"data": null}}'])
def test_a_file_that_is_no_result_does_not_stand_in_the_way(tmp_path: Path, content: str) -> None:
    (tmp_path / "agreement.json").write_text(content)
    measure(tmp_path)
    assert made(tmp_path / "agreement.json")[1].endswith("synthetic speech")


_DRAW = """
from pathlib import Path
from hamiltone.analysis import plots
from hamiltone.paper.measure import figures
from hamiltone.paper.measure.study import Options, Study

study = Study(Options(results=Path("results")))
figures._draw(study, "one", lambda path: plots.save_figure(plots.make_figure(1, 1, (1, 1))[0], path))
"""


def test_a_picture_leaves_nothing_in_the_home_of_the_user(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    away = ("MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in away}
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run([sys.executable, "-c", _DRAW], cwd=tmp_path, env=kept | {"HOME": str(home)}, check=True)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["one.png"] and not list(home.iterdir())
