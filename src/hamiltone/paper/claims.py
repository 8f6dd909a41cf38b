"""The paper's claims, and controls of our own, each with the criterion that decides it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hamiltone.nn.rules import SCALES
from hamiltone.paper import criteria
from hamiltone.paper.judge import Judgement, MissingError, Verdict, line, margin, need
from hamiltone.paper.reference import reference
from hamiltone.paper.results import MEAN_SECONDS, METRICS, MODELS
from hamiltone.paper.store import Evidence


@dataclass(frozen=True)
class Claim:
    """What is claimed, how it is judged, from which measurement, and what its intervals are taken over.

    `control` marks questions of ours that a claim of the paper must survive. `place` is where the paper says it.
    """

    name: str
    text: str
    place: str
    criterion: str
    measurement: str
    over: str
    judge: Callable[[Evidence], Judgement]
    control: bool = False


def judge_claim(claim: Claim, evidence: Evidence) -> Judgement:
    """The judgement of a claim; not tested if something that it needs is missing."""
    try:
        return claim.judge(evidence)
    except MissingError:
        return Judgement(Verdict.NOT_TESTED)


def _percent(name: str) -> str:
    return f"{100 * line(name):g} %"


_SCALE = {"hamilton": "1/√d_h, as Eq. 14 prints it", "hamilton-tay": "1/√(4 d_h), as in Tay et al.'s code"}
_MOVED = f"; W_Q and W_K have left their start (r < {line('moved'):g})"

CLAIMS = (
    Claim(
        "score-cost",
        "A shared score takes 4 products and one softmax instead of 16 and four",
        "Table 1",
        "equal",
        "cost",
        "counted",
        criteria.score_cost,
    ),
    Claim(
        "macs",
        "Multiply-accumulates of one layer",
        "Table 9",
        "equal in every printed digit",
        "cost",
        "counted",
        criteria.macs,
    ),
    Claim(
        "layer-speed",
        "A layer is faster with shared scores at every length",
        "Table 9",
        "speed-up above 1 at all four lengths, both fused",
        "layer-speed",
        "rounds on one machine",
        criteria.faster_layer,
    ),
    Claim(
        "model-speed",
        "Whole models are faster on a CPU",
        "Table 3",
        f"ratio of the real-time factors above 1, fused and explicit, at {MEAN_SECONDS:g} s",
        "model-speed-15s",
        "rounds on one machine",
        criteria.faster_model,
    ),
    *(
        Claim(
            f"cpu-speed-up-{model}",
            f"{reference()['table3'][f'{model}-shared']['label'].split(',')[0]} is "
            f"{reference()['table3']['reduction'][f'{model}_cpu_speedup']} times as fast on a CPU",
            "Table 3",
            f"within {_percent('speedup')} of that, with both rules fused or both explicit, at {MEAN_SECONDS:g} s",
            "model-speed-15s",
            "rounds on one machine",
            partial(criteria.cpu_speedup, model),
        )
        for model in MODELS
    ),
    Claim(
        "theorems",
        "Bilinear scores of both kinds lie in one interaction subspace, and gradients aggregate",
        "Theorems C.1, C.3, Corollary C.2",
        f"errors below {line('identity'):g} in float64",
        "theorems",
        "exact",
        criteria.theorems,
    ),
    Claim(
        "bilinear",
        "The scores of trained layers are bilinear, as C.1 assumes",
        "control",
        f"‖S(2X)‖ = 4 ‖S(X)‖ within {_percent('homogeneity')}",
        "theorems",
        "every layer of one model",
        criteria.bilinear,
        control=True,
    ),
    *(
        Claim(
            f"gradient-norms-{scale}",
            f"The gradient of the shared score is of the order of the four together; scale {_SCALE[scale]}",
            "Table 7",
            f"ratio within a factor of {line('same_order'):g}: "
            "supported in every setting, or contradicted in every one",
            "gradient-settings",
            "trials, in every setting",
            partial(criteria.aggregate, scale),
        )
        for scale in SCALES
    ),
    Claim(
        "coupling",
        "Training couples the gradient norms of the components",
        "Table 8",
        f"correlation rises by {line('coupling'):g}{_MOVED}",
        "ablation",
        "seeds",
        criteria.coupled,
    ),
    Claim(
        "agreement",
        "Components rarely attend to the same position",
        "Tables 4, 10, 11",
        f"top-1 agreement below {_percent('low_agreement')}{_MOVED}",
        "ablation",
        "seeds",
        criteria.low_agreement,
    ),
    Claim(
        "agreement-chance",
        "… but more often than components of different utterances",
        "control",
        f"above the level of shuffled utterances{_MOVED}",
        "ablation",
        "seeds",
        criteria.above_chance,
        control=True,
    ),
    Claim(
        "agreement-flat",
        "… and not because their maps are flat",
        "control",
        f"entropy below {line('entropy'):g} of a flat map's{_MOVED}",
        "ablation",
        "seeds",
        criteria.not_flat,
        control=True,
    ),
    Claim(
        "distributions",
        "The distributions of outputs nearly coincide",
        "Figure 3, Table 5",
        f"KS below {line('ks'):g}, quantile correlation above {line('quantile_correlation'):g}, "
        f"different seeds on both sides{_MOVED}",
        "ablation",
        "seeds",
        criteria.coincide,
    ),
    Claim(
        "distributions-seed",
        "… as nearly as those of two seeds of one rule",
        "control",
        f"KS larger by less than the paper's, {line('ks_beyond_seed'):g}{_MOVED}",
        "ablation",
        "seeds",
        criteria.like_another_seed,
        control=True,
    ),
    *(
        claim
        for scale in SCALES
        for claim in (
            Claim(
                f"formulas-{scale}",
                f"Both formulas give similar outputs on the same q, k, v; scale {_SCALE[scale]}",
                "Figure 4(b, c)",
                f"correlation above {line('correlated'):g} in both models{_MOVED}",
                "ablation",
                "seeds",
                partial(criteria.formulas, scale),
            ),
            Claim(
                f"formulas-mean-{scale}",
                "… and more than a plain mean of the values does",
                "control",
                f"correlation above that of a mean without scores{_MOVED}",
                "ablation",
                "seeds",
                partial(criteria.beyond_mean, scale),
                control=True,
            ),
        )
    ),
    Claim(
        "independent",
        "Independently trained models are uncorrelated",
        "Figure 4(a)",
        f"within ± {line('uncorrelated'):g}, different seeds on both sides{_MOVED}",
        "ablation",
        "seeds",
        criteria.independent,
    ),
    Claim(
        "as-good",
        "Shared scores are as good as Hamilton scores",
        "Table 2",
        f"all differences within the margins: {', '.join(f'{name} ± {margin(name):g}' for name in METRICS)}",
        "ablation",
        "seeds and files",
        partial(criteria.as_good_as, "hamilton"),
    ),
    Claim(
        "as-good-tay",
        "… with the scale 1/√(4 d_h) too",
        "control",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(criteria.as_good_as, "hamilton-tay"),
        control=True,
    ),
    Claim(
        "as-good-released",
        "… and as good as the head split of the released code",
        "control",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(criteria.as_good_as, "head-is-component"),
        control=True,
    ),
    Claim(
        "as-good-maps",
        "… and as good as with four times the heads, which have as many maps",
        "control",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(criteria.as_good_as, "shared-4-heads"),
        control=True,
    ),
    Claim(
        "bundled-twins",
        "The two bundled twins, of one seed, are equally good; this is about two files of weights, not about the rules",
        "control",
        "all differences within the margins",
        "voicebank",
        "files, one seed",
        criteria.bundled_twins,
        control=True,
    ),
    *(
        Claim(
            name,
            f"Shared scores match Hamilton scores on DNS-Challenge 3, in the {model}",
            "Table 3",
            "all differences of DNSMOS within the margins",
            "dns",
            "files, one seed",
            partial(criteria.dns_twins, f"{name}-shared"),
        )
        for name, model in {"dns3": "QConformer", "dns3-qtransformer": "QTransformer"}.items()
    ),
    Claim(
        "images",
        "… on CIFAR-100",
        "Table 13",
        f"difference in accuracy, in points, within ± {need(margin('accuracy')):g}",
        "images",
        "seeds",
        partial(criteria.accuracy, "images"),
    ),
    Claim(
        "text",
        "… on SST-2",
        "Table 15",
        f"difference in accuracy, in points, within ± {need(margin('accuracy')):g}",
        "text",
        "seeds",
        partial(criteria.accuracy, "text"),
    ),
)
