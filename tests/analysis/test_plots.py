import builtins

import numpy as np
import pytest
import torch

from hamiltone.analysis import plots
from hamiltone.errors import InputError

RNG = np.random.default_rng(0)


def test_every_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    a, b = RNG.standard_normal((2, 1000)).astype(np.float32)
    plots.attention_maps(torch.rand(1, 9, 9), torch.rand(4, 9, 9), tmp_path / "2.png")
    plots.output_distributions(a, b, tmp_path / "3.png")
    plots.formula_scatter({"one": (a, b), "two": (b, a)}, tmp_path / "4.png")
    plots.spectrograms({"clean": torch.from_numpy(a), "noisy": torch.from_numpy(b)}, tmp_path / "5.png")
    assert all((tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG") for number in (2, 3, 4, 5))


def test_without_matplotlib_the_install_command_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name=name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match=r"hamiltone\[plots\]"):
        plots.require_matplotlib()
