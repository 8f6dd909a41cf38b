import pytest

from hamiltone.analysis.gradients import Setting
from hamiltone.benchmark import timing
from hamiltone.paper.pair import synthetic_utterances
from hamiltone.paper.study import Options, Study


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    """A quick study made quicker: the toy pair on two short utterances, three trials on small input."""
    folder = tmp_path_factory.mktemp("study")
    study = Study(Options(quick=True, pair="toy", results=folder / "results", docs=folder / "docs"))
    study.__dict__["utterances"] = synthetic_utterances(2, 0.5)
    study.__dict__["setting"] = Setting(batch=2, length=16, dim=8, heads=2, trials=5)
    return study


@pytest.fixture
def one_round(monkeypatch) -> None:
    """Time every method once."""

    def once(methods, **_):
        return timing.interleaved(methods, seconds=0.0, rounds=(1, 1))

    monkeypatch.setattr("hamiltone.paper.cost_tables.interleaved", once)
    monkeypatch.setattr("hamiltone.paper.speech_tables.interleaved", once)
