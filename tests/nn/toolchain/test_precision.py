import copy
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import hamiltone.nn as qnn
from layers import CASES, SIZE, Case

KEEP_THE_DTYPE = {
    qnn.QRMSNorm,
    qnn.QLayerNorm,
    qnn.QBatchNorm,
    qnn.QSequenceBatchNorm,
    qnn.QGRU,
    qnn.QDropout,
    qnn.QGLU,
    qnn.QPReLU,
    qnn.SplitActivation,
    qnn.QTransformerBlock,
    qnn.QConformerBlock,
}
"""Layers that end in no matrix product: under autocast they return what they were given, float32."""

every_layer = pytest.mark.parametrize("case", CASES, ids=str)


no_tf32 = pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN is available:UserWarning")


@pytest.fixture
def native_kernels() -> Iterator[None]:
    """oneDNN's bfloat16 products end the process where a virtual machine announces AMX and does not run it."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


def error(y: Tensor, reference: Tensor) -> float:
    return (y.double() - reference.double()).abs().max().item()


@every_layer
@no_tf32
@pytest.mark.usefixtures("native_kernels")
def test_bfloat16_autocast_is_finite_and_close_to_float32(case: Case) -> None:
    module = case.module().eval()
    x, options = case.inputs(*SIZE)
    x.requires_grad_()
    expected = module(x, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = module(x, **options)
    assert y.dtype == (torch.float32 if case.layer in KEEP_THE_DTYPE else torch.bfloat16)
    assert error(y, expected) < 0.04 * expected.abs().max()
    y.float().square().sum().backward()
    grads = [x.grad, *(p.grad for p in module.parameters() if p.requires_grad)]
    assert all(grad.dtype == torch.float32 and grad.isfinite().all() for grad in grads)


@every_layer
@no_tf32
@pytest.mark.usefixtures("native_kernels")
def test_a_layer_converted_to_bfloat16_stays_there_and_close(case: Case) -> None:
    module = case.module().eval()
    x, options = case.inputs(*SIZE)
    with torch.no_grad():
        expected = module(x, **options)
        y = copy.deepcopy(module).bfloat16()(x.bfloat16(), **options)
    assert y.dtype == torch.bfloat16
    assert error(y, expected) < 0.06 * expected.abs().max()


@every_layer
def test_float64_is_closer_than_float32_to_the_folded_layer_in_float64(case: Case) -> None:
    single = case.module().eval()
    double = copy.deepcopy(single).double()
    x, options = case.inputs(*SIZE)
    with torch.no_grad():
        reference = qnn.fold(double)(x.double(), **options)
        y = double(x.double(), **options)
        assert y.dtype == torch.float64
        assert_close(y, reference, rtol=1e-12, atol=1e-12)
        assert error(y, reference) <= error(single(x, **options), reference) < 1e-4


@every_layer
def test_float64_resolves_differences_that_float32_cannot(case: Case) -> None:
    """The numeric derivative of gradcheck, with steps of 1e-6, would drown in the rounding of float32."""
    module = case.module().double().eval()
    x, options = case.inputs(*SIZE)
    x = x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: module(x, **options), x, fast_mode=True)
