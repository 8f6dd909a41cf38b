import pytest
import torch
from torch import nn

from hamiltone.models import build, preset
from hamiltone.models.compact import RealDepthwise
from hamiltone.models.cost import macs
from hamiltone.models.erb import Bands
from hamiltone.nn import QGRU, HamiltonAttention, QConv2d, QConvTranspose2d, QLinear, QTNAttention, SharedScoreAttention


def test_a_quaternion_layer_costs_as_much_as_the_real_one_of_its_width():
    assert (
        macs(QLinear(3, 5), torch.empty(2, 7, 4, 3)) == 2 * 7 * 12 * 20 == macs(nn.Linear(12, 20), torch.empty(14, 12))
    )
    x = torch.empty(1, 4, 6, 10, 9)
    real = nn.Conv2d(24, 40, 3, stride=(1, 2), padding=1)
    assert macs(QConv2d(6, 10, 3, stride=(1, 2), padding=1), x) == macs(real, x.flatten(1, 2)) == 24 * 40 * 9 * 10 * 5
    up = nn.ConvTranspose2d(24, 40, 3, stride=(1, 2), groups=2)
    assert macs(QConvTranspose2d(6, 10, 3, stride=(1, 2), groups=2), x) == macs(up, x.flatten(1, 2)) == 24 * 20 * 9 * 90


def test_attention_costs_what_table_9_says_besides_its_projections():
    x = torch.empty(1, 512, 4, 64)
    projections = 4 * 512 * 256 * 256
    assert macs(SharedScoreAttention(64, 8), x) - projections == 8 * 512**2 * 64
    assert macs(HamiltonAttention(64, 8), x) - projections == 20 * 512**2 * 64
    pooled = macs(SharedScoreAttention(64, 8, pooling=4), x)  # a quarter of the keys and values
    assert pooled == 2 * 512 * 256 * 256 + 2 * 128 * 256 * 256 + 8 * 512 * 128 * 64


def test_local_attention_is_linear_in_the_length():
    layer = QTNAttention(8, 2)
    assert macs(layer, torch.empty(1, 400, 4, 8)) == 2 * macs(layer, torch.empty(1, 200, 4, 8))


@pytest.mark.parametrize(("bidirectional", "directions"), [(False, 1), (True, 2)])
def test_a_recurrent_unit_costs_six_products_a_step_and_what_follows_reads_its_shape(bidirectional, directions):
    class Read(nn.Module):
        def __init__(self):
            super().__init__()
            self.unit, self.read = QGRU(3, 5, bidirectional=bidirectional), QLinear(5 * directions, 2)

        def forward(self, x):
            y, state = self.unit(x)
            assert (y.shape, state.shape) == ((2, 7, 4, 5 * directions), (2, 4, 5))
            return self.read(y)

    recurrent, read = directions * 3 * 20 * (12 + 20), 20 * directions * 8
    assert macs(Read(), torch.empty(2, 7, 4, 3)) == 2 * 7 * (recurrent + read)
    assert [part.shape for part in QGRU(3, 5, bidirectional=bidirectional)(torch.zeros(2, 7, 4, 3))] == [
        (2, 7, 4, 5 * directions),
        (2, 4, 5),
    ]


def test_a_real_kernel_costs_its_taps_for_every_real_number():
    assert macs(RealDepthwise(3, 5), torch.empty(2, 7, 4, 3)) == 5 * 2 * 7 * 4 * 3


class Nothing(nn.Module):
    def forward(self, features):
        return features[:, 0, 0], features[:, 1, 0]


def test_bands_cost_two_matrix_products():
    features = torch.empty(1, 4, 1, 10, 257)
    assert macs(Bands(Nothing(), 257, 129, 16_000), features) == (4 + 2) * 10 * 257 * 129


@pytest.mark.parametrize("name", ["compact", "qconformer-dns"])
def test_every_layer_with_weights_is_called_and_so_counted(name):
    model, called = build(preset(name)), set()
    layers = {key: layer for key, layer in model.named_modules() if layer._parameters}
    for key, layer in layers.items():
        layer.register_forward_hook(lambda *_, key=key: called.add(key))
    model(torch.randn(1, 2000))
    assert called == layers.keys()
