"""The score rules that the analyses set side by side, by name."""

from collections.abc import Callable

from torch import Tensor

from hamiltone.nn import HamiltonScore, ScoreRule, SharedScore


class TayScore(HamiltonScore):
    """Hamilton scores with the scale 1/√(4D) of Tay et al.'s code, where Eq. 14 prints 1/√D."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Half of the scores of Eq. 14."""
        return super().scores(q / 2, k)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """As fused as with the other scale."""
        return super().attend(q / 2, k, v, mask=mask, causal=causal, dropout=dropout)


SCALES = ("hamilton", "hamilton-tay")
"""The names of Hamilton attention with 1/√D, as Eq. 14 prints it, and with 1/√(4D), the scale of the shared score."""


def score_rule(name: str) -> ScoreRule:
    """A rule by its name: shared, hamilton or hamilton-tay."""
    rules: dict[str, Callable[[], ScoreRule]] = {
        "shared": SharedScore,
        "hamilton": HamiltonScore,
        "hamilton-tay": TayScore,
    }
    return rules[name]()
