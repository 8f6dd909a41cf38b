import pytest
import torch
from torch import nn

from hamiltone.export.layers import Interleaved, Rescaled, for_onnx
from hamiltone.nn import QRMSNorm
from hamiltone.nn.folded import RealConvTranspose2d

GEOMETRIES = {
    "doubles": ((3, 3), (1, 2), (1, 1), (0, 0)),
    "doubles evenly": ((3, 3), (1, 2), (1, 1), (0, 1)),
    "four of eight taps": ((1, 8), (1, 4), (0, 2), (0, 0)),
    "fewer taps than the stride": ((1, 2), (1, 4), (0, 0), (0, 0)),
    "keeps the length": ((5, 3), (1, 1), (2, 1), (0, 0)),
}


def widening(kernel, stride, padding, extra) -> RealConvTranspose2d:
    torch.manual_seed(0)
    return RealConvTranspose2d(8, 12, kernel, stride, padding, extra).eval()


@pytest.mark.parametrize("name", GEOMETRIES)
def test_interleaved_convolutions_are_the_transposed_convolution(name: str) -> None:
    layer, x = widening(*GEOMETRIES[name]), torch.randn(2, 4, 2, 7, 9)
    replaced = for_onnx(layer)
    assert isinstance(replaced, Interleaved)
    torch.testing.assert_close(replaced(x), layer(x))


def test_a_transposed_convolution_that_overhangs_stays_as_it_is() -> None:
    assert isinstance(for_onnx(widening((1, 5), (1, 3), (0, 0), (0, 1))), RealConvTranspose2d)


def test_rescaled_rows_are_the_rms_norm_but_for_the_sign_of_the_gain() -> None:
    torch.manual_seed(0)
    norm = QRMSNorm(3)
    nn.init.normal_(norm.gain)
    x = torch.randn(5, 2, 4, 3)  # rows, heads, components, quaternions
    gain = norm.gain.detach().expand(2, 4, 3)
    rescaled = Rescaled(norm.eps, gain)((x * gain.sign()).flatten(1))
    torch.testing.assert_close(rescaled.view_as(x), norm(x).detach())
    assert (norm.gain < 0).any()
