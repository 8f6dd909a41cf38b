"""Theorem C.1, Corollary C.2 and Theorem C.3 as numbers in float64 (Eq. 44-67).

With W in the paper's layout, ``(4, d_in, d_h)``, component μ of X ⊗ W is Σ_β X_β Φ_μβ(W) (Eq. 51-52). A score that is
bilinear in the components of queries and keys has coefficients between input components β and γ; the theorems say that
they lie in U(W_Q, W_K), the span of all Φ_μβ(W_Q) Φ_νγ(W_K)ᵀ.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hamiltone.algebra import SIGN, real_matrix


@dataclass(frozen=True)
class SubspaceCheck:
    """What the theorems claim as relative errors, and what U is.

    `dimension` of U within the `ambient` d_in² matrices; distances are relative, over all coefficient matrices; those
    of `random_distance`, for a random matrix, show what a distance looks like where nothing is claimed.
    `any_bilinear_distance` is that of a score with random signs and weights in place of Eq. 4's: it lies in U as well.
    `joint_rank` is that of the four Hamilton scores and the shared one as bilinear forms of the input: 5 says that the
    shared score is not a linear combination of the four.
    """

    d_in: int
    d_h: int
    dimension: int
    ambient: int
    hamilton_error: float
    shared_error: float
    hamilton_distance: float
    shared_distance: float
    random_distance: float
    any_bilinear_distance: float
    joint_rank: int


@dataclass(frozen=True)
class GradientCheck:
    """Theorem C.3: errors of Eq. 66 and 67 against autograd, and the largest gradient that crosses components::

        dL/dS = J_sm(S)ᵀ Σ_α dL/dO_α V_αᵀ          dL/dS_α = J_sm(S_α)ᵀ dL/dO_α V_αᵀ

    The first is that of shared scores, the second that of each Hamilton score, which sees its own component alone.
    """

    aggregation_error: float
    separation_error: float
    crossing: float


def blocks(w: Tensor) -> Tensor:
    """Φ(W) of Eq. 52: the block in row μ, column β takes X_β to its share of component μ.

    Shape:
        w: ``(4, d_in, d_h)``
        returns: ``(4, 4, d_in, d_h)``
    """
    return real_matrix(w, dim=0)


def generators(w_q: Tensor, w_k: Tensor) -> Tensor:
    """The 256 matrices Φ_μβ(W_Q) Φ_νγ(W_K)ᵀ that span U (Eq. 60).

    Shape:
        returns: ``(4, 4, 4, 4, d_in, d_in)`` for μ, β, ν, γ
    """
    return torch.einsum("mbih,ngjh->mbngij", blocks(w_q), blocks(w_k))


def coefficients(w_q: Tensor, w_k: Tensor, weights: Tensor) -> Tensor:
    """The coefficients of a score Σ_μν weights[μ, ν] Q_μ K_νᵀ between input components β and γ.

    Shape:
        weights: ``(..., 4, 4)``
        returns: ``(..., 4, 4, d_in, d_in)`` for β, γ
    """
    return torch.einsum("...mn,mbngij->...bgij", weights, generators(w_q, w_k))


def hamilton_weights() -> Tensor:
    """Eq. 4 as weights ``(4, 4, 4)`` for α, μ, ν: the sets I_α with the signs σ of Eq. 59."""
    weights = torch.zeros(4, 4, 4, dtype=torch.float64)
    for a in range(4):
        for b in range(4):
            weights[a, b, a ^ b] = SIGN[a][b]
    return weights


def scores_from(x: Tensor, coefficient: Tensor) -> Tensor:
    """Σ_βγ X_β · coefficient[β, γ] · X_γᵀ (Eq. 46, 61).

    Shape:
        x: ``(4, T, d_in)``, coefficient: ``(..., 4, 4, d_in, d_in)``
        returns: ``(..., T, T)``
    """
    return torch.einsum("bti,...bgij,gsj->...ts", x, coefficient, x)


def distance_to_span(matrices: Tensor, span: Tensor) -> tuple[float, int]:
    """The largest relative distance of matrices to the span of others, and the dimension of that span.

    Shape:
        matrices: ``(A, d_in, d_in)``, span: ``(G, d_in, d_in)``
    """
    _, singular, basis = torch.linalg.svd(span.flatten(1), full_matrices=False)
    dimension = int((singular > 1e-10 * singular[0]).sum())
    basis = basis[:dimension]
    rows = matrices.flatten(1)
    residual = rows - rows @ basis.mT @ basis
    return float((residual.norm(dim=1) / rows.norm(dim=1)).max()), dimension


@torch.no_grad()
def check_subspace(d_in: int = 16, d_h: int = 4, length: int = 32, seed: int = 0) -> SubspaceCheck:
    """Check Theorem C.1 and Corollary C.2 on random weights and input.

    U has at most 16 dimensions, one for each W_Q,a W_K,bᵀ, so that from d_in = 5 on it is a proper subspace.
    """
    if d_in**2 <= 16:
        raise ValueError(
            f"U fills all {d_in**2} dimensions at d_in = {d_in}: take at least 5 for a check that can fail"
        )
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x, w_q, w_k = draw(4, length, d_in), draw(4, d_in, d_h), draw(4, d_in, d_h)
    q, k = (torch.einsum("mbih,bti->mth", blocks(w), x) for w in (w_q, w_k))
    direct = torch.einsum("amn,mti,nsi->ats", hamilton_weights(), q, k)  # Eq. 53-56
    inner = torch.einsum("mti,msi->ts", q, k)  # Eq. 62
    capital_lambda = coefficients(w_q, w_k, hamilton_weights())
    capital_m = coefficients(w_q, w_k, torch.eye(4, dtype=torch.float64))
    span = generators(w_q, w_k).flatten(0, 3)

    def distance(coefficient: Tensor) -> float:
        return distance_to_span(coefficient.reshape(-1, d_in, d_in), span)[0]

    forms = torch.cat([capital_lambda.flatten(1), capital_m.flatten()[None]])
    return SubspaceCheck(
        d_in=d_in,
        d_h=d_h,
        dimension=distance_to_span(span, span)[1],
        ambient=d_in**2,
        hamilton_error=_relative(scores_from(x, capital_lambda), direct),
        shared_error=_relative(scores_from(x, capital_m), inner),
        hamilton_distance=distance(capital_lambda),
        shared_distance=distance(capital_m),
        random_distance=distance(draw(16, d_in, d_in)),
        any_bilinear_distance=distance(coefficients(w_q, w_k, draw(4, 4))),
        joint_rank=int(torch.linalg.matrix_rank(forms)),
    )


def check_gradients(length: int = 24, d_h: int = 4, seed: int = 0) -> GradientCheck:
    """Check Theorem C.3 on random scores and values under a loss that is not a sum over components."""
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(4, length, d_h, generator=generator, dtype=torch.float64)
    s = torch.randn(4, length, length, generator=generator, dtype=torch.float64).requires_grad_()

    shared, of_shared, maps = _gradients(s[:1], v)
    summed = (of_shared @ v.mT).sum(0, keepdim=True)  # Eq. 65
    aggregation = _relative(_softmax_transposed(maps, summed), shared)
    separate, of_separate, maps = _gradients(s, v)
    separation = _relative(_softmax_transposed(maps, of_separate @ v.mT), separate)  # Eq. 67
    outputs = s.softmax(-1) @ v
    crossing = 0.0
    for a in range(4):
        (gradient,) = torch.autograd.grad(_loss(outputs[a]), s, retain_graph=True)
        crossing = max(crossing, float(gradient[[b for b in range(4) if b != a]].abs().max()))
    return GradientCheck(aggregation, separation, crossing)


def _gradients(s: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """By autograd: dL/dS, dL/dO, and the maps."""
    scores = s.detach().requires_grad_()
    maps = scores.softmax(-1)
    outputs = maps @ v
    of_scores, of_outputs = torch.autograd.grad(_loss(outputs), (scores, outputs))
    return of_scores, of_outputs, maps.detach()


def _loss(outputs: Tensor) -> Tensor:
    return outputs.sin().sum().square() + outputs.square().sum().sqrt()


def _softmax_transposed(maps: Tensor, of_maps: Tensor) -> Tensor:
    """J_sm(S)ᵀ applied to dL/dA, row by row."""
    return maps * (of_maps - (maps * of_maps).sum(-1, keepdim=True))


def _relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())
