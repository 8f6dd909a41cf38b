import pytest
import torch
from torch import nn
from torch.testing import assert_close

import hamiltone.nn
from layers import CASES, OTHER_SIZES, Case


def test_every_public_layer_is_tried() -> None:
    public = {getattr(hamiltone.nn, name) for name in hamiltone.nn.__all__}
    layers = {item for item in public if isinstance(item, type) and issubclass(item, nn.Module)}
    assert {case.layer for case in CASES} == layers


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_exported_layer_serves_other_batches_and_lengths(case: Case) -> None:
    module, program = case.exported()
    run = program.module()
    for size in OTHER_SIZES:
        x, options = case.inputs(*size)
        with torch.no_grad():
            assert_close(run(x, **options), module(x, **options))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_exported_layer_holds_the_weights_and_no_copy_of_them(case: Case) -> None:
    module, program = case.exported()
    assert program.state_dict.keys() == module.state_dict().keys()
    large = [name for name, value in program.constants.items() if isinstance(value, torch.Tensor) and value.numel() > 1]
    assert not large, "a cached real weight must not be baked into the program"
