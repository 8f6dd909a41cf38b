import pytest
import torch

from hamiltone.models import build, preset, tiling


@pytest.mark.parametrize("name", ["qconformer-dns", "qtn-dns", "compact"])
def test_tiles_do_not_change_the_result(name, monkeypatch):
    model = build(preset(name)).eval()
    waveform = torch.randn(1, 12_000)
    with torch.no_grad():
        monkeypatch.setattr(tiling, "TILE", 2**40)
        whole = model(waveform)
        monkeypatch.setattr(tiling, "TILE", 2**10)
        torch.testing.assert_close(model(waveform), whole, atol=1e-5, rtol=1e-5)


def test_tiles_hand_on_the_memory_layout():
    x = torch.randn(1, 50, 9, 8).permute(0, 3, 1, 2).unflatten(1, (4, 2))  # (1, 4, 2, 50, 9), channels last
    with torch.no_grad():
        y = tiling.over_time(lambda part: 2 * part, x, reach=3)
    assert y.stride() == x.stride() and torch.equal(y, 2 * x)


def test_gradients_see_the_whole_tensor(monkeypatch):
    monkeypatch.setattr(tiling, "TILE", 1)
    calls = []
    x = torch.randn(3, 5, 4, 2, requires_grad=True)
    tiling.over_batch(lambda part: calls.append(part.shape) or part, x)
    assert calls == [x.shape]
