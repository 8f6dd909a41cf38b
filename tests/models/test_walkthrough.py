"""The shapes in docs/walkthrough.md are those of the model."""

import re
from pathlib import Path

import pytest
import torch

from hamiltone.audio.features import quaternion_features
from hamiltone.models import build, preset

PAGE = Path(__file__).parents[2] / "docs" / "walkthrough.md"


@pytest.fixture(scope="module")
def shapes() -> dict[str, tuple[int, ...]]:
    model = build(preset("qconformer")).eval()
    seen: dict[str, tuple[int, ...]] = {}

    def record(name: str):
        def hook(module, inputs, output):
            seen.setdefault(name, tuple((output if isinstance(output, torch.Tensor) else output[0]).shape))

        return hook

    for name, module in model.named_modules():
        module.register_forward_hook(record(name.removeprefix("network.")))
    waveform = torch.randn(1, 16_000)
    seen["waveform"] = tuple(waveform.shape)
    seen["features"] = tuple(quaternion_features(model.stft(waveform)).shape)
    with torch.enable_grad():  # whole tensors, no tiles
        seen["gain"] = tuple(model.gain(model.stft(waveform)).shape)
        seen["output"] = tuple(model(waveform).shape)
    return seen


def test_every_shape_in_the_walkthrough_is_the_models(shapes):
    lines = re.findall(r"`([\w.]+) (\([\d, ]+\))`", PAGE.read_text())
    assert len(lines) >= 14
    for name, shape in lines:
        assert shapes[name] == tuple(int(part) for part in shape.strip("()").split(",")), name
