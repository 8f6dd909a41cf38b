import pytest
import torch
from torch import nn

from hamiltone.analysis import diagrams
from hamiltone.models import bundled, load_checkpoint


def test_the_parts_of_a_network_are_noted_with_their_shapes_in_order():
    model, _ = load_checkpoint(bundled()["toy"])
    stages = diagrams.trace_stages(model, torch.zeros(1, 4000), depth=4)
    names = [stage.name for stage in stages]
    assert names.index("network.encoder") < names.index("network.bottleneck") < names.index("network.decoder")
    assert names.index("network.bottleneck.time_layers.0") < names.index("network.bottleneck")
    assert not any(name.startswith("network.encoder.stem.") for name in names)
    network = next(stage for stage in stages if stage.name == "network")
    assert network.parameters == sum(p.numel() for p in model.parameters()) and network.shape[-1] == 257


def test_hooks_are_removed_even_when_a_model_fails():
    model = nn.ModuleDict({"a": nn.Linear(2, 2)})
    with pytest.raises(NotImplementedError):
        diagrams.trace_stages(model, torch.zeros(1, 2))
    assert not model["a"]._forward_hooks


def test_the_diagrams_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    diagrams.two_attentions(torch.rand(1, 9, 9), torch.rand(4, 9, 9), tmp_path / "one.png")
    stage = diagrams.Stage("encoder", "Encoder", 10, (1, 2, 3), 0)
    diagrams.architecture([stage], tmp_path / "new" / "six.png")
    assert all(path.stat().st_size > 5000 for path in (tmp_path / "one.png", tmp_path / "new" / "six.png"))
