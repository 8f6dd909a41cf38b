import pytest

from hamiltone.errors import InputError
from hamiltone.paper import figures


@pytest.mark.parametrize("name", ["figure2", "figure3", "figure4", "figure5"])
def test_figures_are_drawn_below_the_docs(study, name):
    pytest.importorskip("matplotlib")
    result = getattr(figures, name)(study)
    assert result.picture == f"figures/{name}.png" and (study.options.docs / result.picture).stat().st_size > 5000


def test_without_matplotlib_the_numbers_remain(study, monkeypatch):
    def missing():
        raise InputError("no matplotlib")

    monkeypatch.setattr("hamiltone.analysis.plots.require_matplotlib", missing)
    result = figures.figure4(study)
    assert result.picture == "" and all(row.ours is not None for row in result.rows)
