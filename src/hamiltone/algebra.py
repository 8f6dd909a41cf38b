"""Quaternion algebra on real tensors with a visible component axis (Eq. 1-7 and 28).

A tensor of quaternions is a real tensor in which one axis, of length four, holds the components in the order
real, i, j, k. Every function names that axis by ``dim``; the default ``-2`` is the library's sequence layout
``(..., 4, C)``. Feature maps ``(B, 4, C, T, F)`` use ``dim=1``. The channel axis always follows the component axis.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
import torch
from torch import Tensor

# Eq. 28, the only place with the signs of the Hamilton product: component a of x ⊗ w is
# Σ_b SIGN[a][b] · w[a ^ b] · x[b], because the units multiply by XOR of their indices up to a sign.
SIGN = (
    (+1, -1, -1, -1),
    (+1, +1, +1, -1),
    (+1, -1, +1, +1),
    (+1, +1, -1, +1),
)


def component_axis(x: Tensor, dim: int) -> int:
    """Return `dim` counted from the front after checking that it is an axis of four components."""
    if not -x.dim() <= dim < x.dim() or x.shape[dim] != 4:
        raise ValueError(
            f"expected a component axis of length 4 (real, i, j, k) at dim {dim}, got shape {tuple(x.shape)}"
        )
    return dim % x.dim()


def _same_axis_from_the_end(p: Tensor, q: Tensor, dim: int) -> int:
    """The component axis of two tensors that are to be broadcast, as a negative index valid for both."""
    axis = component_axis(p, dim) - p.dim()
    if component_axis(q, dim) - q.dim() != axis:
        raise ValueError(
            f"the component axis must be equally far from the end of both tensors; dim {dim} of "
            f"{tuple(p.shape)} and {tuple(q.shape)} is not: use a negative dim"
        )
    return axis


def real_matrix(w: Tensor, dim: int = -2) -> Tensor:
    """The 4x4 real form of right multiplication by w (Eq. 28): ``x ⊗ w`` is this matrix times x.

    Shape:
        w: ``(..., 4, ...)`` with the components at `dim`
        returns: ``(..., 4, 4, ...)``, `dim` replaced by the pair (output component, input component)

    >>> real_matrix(torch.tensor([1.0, 2.0, 3.0, 4.0]), dim=0)
    tensor([[ 1., -2., -3., -4.],
            [ 2.,  1.,  4., -3.],
            [ 3., -4.,  1.,  2.],
            [ 4.,  3., -2.,  1.]])
    """
    dim = component_axis(w, dim)
    parts = w.unbind(dim)
    negated = [-part for part in parts]
    rows = [torch.stack([(parts if SIGN[a][b] > 0 else negated)[a ^ b] for b in range(4)], dim=dim) for a in range(4)]
    return torch.stack(rows, dim=dim)


def hamilton_product(p: Tensor, q: Tensor, dim: int = -2) -> Tensor:
    """The Hamilton product p ⊗ q (Eq. 4), element by element with broadcasting::

        (p ⊗ q)_0 = p_0 q_0 - p_1 q_1 - p_2 q_2 - p_3 q_3
        (p ⊗ q)_1 = p_0 q_1 + p_1 q_0 + p_2 q_3 - p_3 q_2
        (p ⊗ q)_2 = p_0 q_2 - p_1 q_3 + p_2 q_0 + p_3 q_1
        (p ⊗ q)_3 = p_0 q_3 + p_1 q_2 - p_2 q_1 + p_3 q_0

    Shape:
        p, q: broadcastable, with the components at `dim`
        returns: the broadcast shape

    >>> i, j = torch.eye(4)[1], torch.eye(4)[2]
    >>> hamilton_product(i, j, dim=0)  # ij = k
    tensor([0., 0., 0., 1.])
    """
    axis = _same_axis_from_the_end(p, q, dim)
    x, w = p.unbind(axis), q.unbind(axis)

    def component(a: int) -> Tensor:
        total = x[0] * w[a]
        for b in range(1, 4):
            total = total + x[b] * w[a ^ b] if SIGN[a][b] > 0 else total - x[b] * w[a ^ b]
        return total

    return torch.stack([component(a) for a in range(4)], dim=axis)


def conjugate(q: Tensor, dim: int = -2) -> Tensor:
    """The conjugate q* = q_0 - q_1 i - q_2 j - q_3 k (Eq. 3)."""
    dim = component_axis(q, dim)
    real, imaginary = q.split([1, 3], dim=dim)
    return torch.cat([real, -imaginary], dim=dim)


def norm(q: Tensor, dim: int = -2, *, keepdim: bool = False) -> Tensor:
    """The norm ‖q‖ = √(q ⊗ q*) of each quaternion (Eq. 3); the component axis disappears unless `keepdim`."""
    return torch.linalg.vector_norm(q, dim=component_axis(q, dim), keepdim=keepdim)


def inner_product(p: Tensor, q: Tensor, dim: int = -2, *, keepdim: bool = False) -> Tensor:
    """The real inner product of each pair of quaternions (Eq. 5-6); sum over C for Eq. 7::

        Re(p ⊗ q*) = p_0 q_0 + p_1 q_1 + p_2 q_2 + p_3 q_3

    >>> i = torch.eye(4)[1]
    >>> inner_product(i, i, dim=0)  # without the conjugate it would be -1 (Eq. 42)
    tensor(1.)
    """
    return (p * q).sum(_same_axis_from_the_end(p, q, dim), keepdim=keepdim)


def flatten(x: Tensor, dim: int = -2) -> Tensor:
    """Merge the ``(4, C)`` pair at `dim` into one real axis of length 4C, component by component (Eq. 37).

    Shape:
        x: ``(..., 4, C, ...)`` with the components at `dim`
        returns: ``(..., 4C, ...)``
    """
    dim = component_axis(x, dim)
    if dim + 1 == x.dim():
        raise ValueError(f"expected a channel axis after the component axis at dim {dim}, got shape {tuple(x.shape)}")
    return x.flatten(dim, dim + 1)


def unflatten(x: Tensor, dim: int = -2) -> Tensor:
    """Undo `flatten`: `dim` is where the component axis stands in the result.

    Shape:
        x: ``(..., 4C, ...)``
        returns: ``(..., 4, C, ...)`` with the components at `dim`

    >>> unflatten(torch.arange(8), dim=-2)
    tensor([[0, 1],
            [2, 3],
            [4, 5],
            [6, 7]])
    """
    rank = x.dim() + 1
    if not -rank <= dim < rank - 1 or dim == -1:
        raise ValueError(f"dim {dim} cannot be the component axis of a result with {rank} axes, the last being C")
    dim %= rank
    if x.shape[dim] % 4:
        raise ValueError(f"expected a length divisible by 4 at axis {dim}, got shape {tuple(x.shape)}")
    return x.unflatten(dim, (4, -1))
