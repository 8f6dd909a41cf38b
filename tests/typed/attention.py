"""What a type checker knows of a call; `make check` runs mypy on this file, and nothing ever runs it."""

from typing import assert_type

from torch import Tensor

from hamiltone.nn import HamiltonAttention, SharedScoreAttention


def calls_have_types(shared: SharedScoreAttention, hamilton: HamiltonAttention, x: Tensor) -> None:
    """A call of an attention is a tensor, with `need_weights` a pair of tensors."""
    assert_type(shared(x), Tensor)
    assert_type(hamilton(x, x, causal=True), Tensor)
    assert_type(shared(x, need_weights=True), tuple[Tensor, Tensor])
