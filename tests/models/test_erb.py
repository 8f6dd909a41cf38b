import pytest
import torch
from torch import nn

from hamiltone.errors import InputError
from hamiltone.models import CompactConfig, build
from hamiltone.models.erb import Bands, band_hats

HATS = band_hats(257, 129, 16_000)


def test_the_lowest_bins_are_bands_of_their_own():
    assert torch.equal(HATS[:65, :65], torch.eye(65))


def test_bands_grow_wider_with_frequency_and_the_last_bin_is_the_last_band():
    widths = HATS.double().sum(0)[65:-1]
    # hats are sampled at whole bins, so a single width may deviate; means of eight do not
    means = widths[: 8 * (len(widths) // 8)].view(-1, 8).mean(1)
    assert (means.diff() > 0).all()
    assert HATS[-1, -1] == 1


class Echo(nn.Module):
    """Returns the second and third component of the features."""

    def forward(self, features):
        return features[:, 1, 0], features[:, 2, 0]


def test_what_is_constant_over_frequency_comes_through_unchanged():
    features = torch.randn(2, 4, 1, 5, 1).expand(-1, -1, -1, -1, 257)
    mask, phase = Bands(Echo(), 257, 129, 16_000)(features)
    torch.testing.assert_close(mask, features[:, 1, 0])
    torch.testing.assert_close(phase, features[:, 2, 0])


def test_bands_must_fit_the_stages():
    with pytest.raises(InputError, match="cannot halve 130 bins or bands evenly"):
        build(CompactConfig(bands=130))
