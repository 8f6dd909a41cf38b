import pytest
import torch

from average import average
from cases import randomise_
from hamiltone.models import RowConfig, build

SMALL = RowConfig(channels=2, dim=4, memory=4, rows=6, blocks=1, heads=2, residuals=1, n_fft=64, hop=32)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_every_number_lies_between_those_of_both(share: float) -> None:
    old, new = (randomise_(build(SMALL)) for _ in range(2))
    found = average(old, new, share)
    for name, value in found.items():
        a, b = old.state_dict()[name], new.state_dict()[name]
        expected = (1 - share) * a + share * b if a.is_floating_point() else b
        torch.testing.assert_close(value, expected)
    build(SMALL).load_state_dict(found)
