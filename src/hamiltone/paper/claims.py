"""The paper's claims, and controls of our own, each with the criterion that we hold it to."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

from hamiltone.analysis.rules import SCALES
from hamiltone.analysis.settings import HEADS, INITS, LOSSES, Choice
from hamiltone.analysis.statistics import Spread
from hamiltone.paper.judge import (
    Judgement,
    MissingError,
    Verdict,
    above,
    alike,
    below,
    either,
    equivalent,
    every,
    exactly,
    find,
    line,
    margin,
    need,
    pick,
    some,
    within,
)
from hamiltone.paper.reference import reference
from hamiltone.paper.results import (
    LENGTHS,
    MEAN_SECONDS,
    METRICS,
    MODELS,
    SUBSPACES,
    Agreements,
    Classifier,
    Costs,
    LayerSpeeds,
    ModelSpeeds,
    Outputs,
    Quality,
    Settings,
    Theorems,
    Twins,
)
from hamiltone.paper.store import Evidence


@dataclass(frozen=True)
class Claim:
    """What is claimed, by what we judge it, on which measurement, and over what its intervals are.

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
    """The judgement of a claim; not tested where something that it needs is missing."""
    try:
        return claim.judge(evidence)
    except MissingError:
        return Judgement(Verdict.NOT_TESTED)


def _score_cost(evidence: Evidence) -> Judgement:
    printed, costs = reference()["table1"], {one.attention: one for one in find(evidence, "cost", Costs).scores}
    ours = {name: pick(costs, name) for name in ("shared", "hamilton")}
    equal = all(
        (one.multiplications, one.softmaxes)
        == (printed[name]["multiplications"].value, printed[name]["softmaxes"].value)
        for name, one in ours.items()
    )
    numbers = [(f"{name} products", float(one.multiplications)) for name, one in ours.items()]
    return Judgement(exactly(equal), tuple(numbers))


def _macs(evidence: Evidence) -> Judgement:
    costs = {(one.attention, one.length): one.macs for one in find(evidence, "cost", Costs).layers}
    printed = reference()["table9"]
    parts = [
        exactly(float(f"{pick(costs, (rule, length)):.3g}") == printed[f"t{length}"][f"{rule}_macs"].value)
        for rule, length in product(("shared", "hamilton"), LENGTHS)
    ]
    return Judgement(every(*parts), (("counts compared", float(len(parts))),))


def _faster_layer(evidence: Evidence) -> Judgement:
    speeds = {one.length: one.speedup for one in find(evidence, "layer-speed", LayerSpeeds).lengths}
    numbers = [(f"T = {length}", pick(speeds, length)) for length in LENGTHS]
    return Judgement(every(*(above(one, 1.0) for _, one in numbers)), tuple(numbers))


def _faster_model(evidence: Evidence) -> Judgement:
    numbers = [
        (f"{model}, {path}", _ratio(evidence, model, path)) for model in MODELS for path in ("fused", "explicit")
    ]
    return Judgement(every(*(above(one, 1.0) for _, one in numbers)), tuple(numbers))


def _cpu_speedup(model: str, evidence: Evidence) -> Judgement:
    printed, share = reference()["table3"]["reduction"][f"{model}_cpu_speedup"].value, line("speedup")
    numbers = [(path, _ratio(evidence, model, path)) for path in ("fused", "explicit")]
    parts = [within(one, (1 - share) * printed, (1 + share) * printed) for _, one in numbers]
    return Judgement(either(*parts), tuple(numbers))


def _ratio(evidence: Evidence, model: str, path: str) -> Spread:
    """Hamilton over shared, both by one path, at the mean length of the paper's utterances."""
    ratios = find(evidence, "model-speed", ModelSpeeds).ratios
    found = {(one.model, one.seconds, one.hamilton_path, one.shared_path): one.ratio for one in ratios}
    return pick(found, (model, MEAN_SECONDS, path, path))


def _theorems(evidence: Evidence) -> Judgement:
    found = find(evidence, "theorems", Theorems)
    checks = {(one.d_in, one.d_h): one for one in found.subspaces}
    errors = [
        error
        for size in SUBSPACES
        for one in (pick(checks, size),)
        for error in (one.hamilton_error, one.shared_error, one.hamilton_distance, one.shared_distance)
    ]
    errors += [found.gradients.aggregation_error, found.gradients.separation_error, found.gradients.crossing]
    worst = max(errors)
    return Judgement(exactly(worst < line("identity")), (("largest error", worst),))


def _bilinear(evidence: Evidence) -> Judgement:
    layers = some(find(evidence, "theorems", Theorems).homogeneity)
    ratios = [one.ratio for one in layers]
    near = 4 * line("speedup")  # a tenth of four
    numbers = (("smallest ‖S(2X)‖/‖S(X)‖", min(ratios)), ("largest", max(ratios)))
    return Judgement(exactly(all(abs(ratio - 4) < near for ratio in ratios)), numbers)


def _aggregate(scale: str, evidence: Evidence) -> Judgement:
    landings = {one.choice: one.ratio for one in find(evidence, "gradient-settings", Settings).landings}
    design = product(LOSSES, HEADS, (True, False), INITS, (True, False))
    ratios = [pick(landings, Choice(*choice, scale=scale)) for choice in design]
    order = line("same_order")
    means = sorted(one.mean for one in ratios)
    numbers = (("smallest ratio", means[0]), ("largest", means[-1]), ("settings", float(len(means))))
    return Judgement(alike(*(within(one, 1 / order, order) for one in ratios)), numbers)


def _coupled(evidence: Evidence) -> Judgement:
    found = find(evidence, "ablation", Twins)
    (runs,) = some(one.runs for one in found.variants if one.name == "hamilton")
    moved = max(max(run.query_correlation, run.key_correlation) for run in some(runs))
    verdict = above(found.coupling.change, line("coupling"))
    if moved > line("moved"):
        verdict = Verdict.UNDECIDED  # weights that have hardly moved cannot tell what training does
    return Judgement(verdict, (("change", found.coupling.change), ("correlation with the start, at most", moved)))


def _low_agreement(evidence: Evidence) -> Judgement:
    (top,) = some(one for one in find(evidence, "agreement", Agreements).tops if one.count == 1)
    return Judgement(below(top.overall, line("low_agreement")), (("top-1", top.overall),))


def _above_chance(evidence: Evidence) -> Judgement:
    (one,) = some(one for one in need(find(evidence, "agreement", Agreements).maps).shuffled if one.count == 1)
    return Judgement(above(one.excess, 0.0), (("within", one.excess), ("across utterances", one.rate)))


def _not_flat(evidence: Evidence) -> Judgement:
    maps = need(find(evidence, "agreement", Agreements).maps)
    numbers = (("entropy", maps.entropy), ("Jensen-Shannon distance", maps.distance))
    return Judgement(below(maps.entropy, line("entropy")), numbers)


def _coincide(evidence: Evidence) -> Judgement:
    found = find(evidence, "outputs", Outputs).similarity
    verdict = every(below(found.ks, line("ks")), above(found.quantile_correlation, line("quantile_correlation")))
    return Judgement(verdict, (("KS", found.ks), ("quantile correlation", found.quantile_correlation)))


def _like_another_seed(evidence: Evidence) -> Judgement:
    found = find(evidence, "ablation", Twins)
    numbers = (("shared and Hamilton", found.both_rules.ks), ("two seeds of shared", found.same_rule.ks))
    return Judgement(below(found.ks_beyond_seed, line("ks")), (("KS beyond a seed's", found.ks_beyond_seed), *numbers))


def _both_models(found: tuple[Spread, ...]) -> tuple[tuple[str, Spread], ...]:
    if len(found) != 2:
        raise MissingError("one of the models")
    return tuple(zip(("shared model", "Hamilton model"), found, strict=True))


def _formulas(scale: str, evidence: Evidence) -> Judgement:
    found = pick(find(evidence, "outputs", Outputs).similarity.formulas, scale)
    numbers = _both_models(found)
    return Judgement(every(*(above(one, line("correlated")) for one in found)), numbers)


def _beyond_mean(scale: str, evidence: Evidence) -> Judgement:
    found = pick(find(evidence, "outputs", Outputs).similarity.beyond, scale)
    numbers = _both_models(found)
    return Judgement(every(*(above(one, 0.0) for one in found)), numbers)


def _independent(evidence: Evidence) -> Judgement:
    found, limit = find(evidence, "ablation", Twins).both_rules.correlation, line("uncorrelated")
    return Judgement(within(found, -limit, limit), (("correlation", found),))


def _as_good_as(variant: str, evidence: Evidence) -> Judgement:
    return equivalent(pick(find(evidence, "ablation", Twins).differences, variant), METRICS)


def _bundled_twins(evidence: Evidence) -> Judgement:
    return equivalent(find(evidence, "voicebank", Quality).twins, METRICS)


def _dns_twins(evidence: Evidence) -> Judgement:
    return equivalent(find(evidence, "dns", Quality).twins, ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808"))


def _accuracy(measurement: str, evidence: Evidence) -> Judgement:
    found, limit = need(find(evidence, measurement, Classifier).difference), need(margin("accuracy"))
    return Judgement(within(found, -limit, limit), (("shared - Hamilton, points", found),))


_SCALE = {"hamilton": "1/√d_h, as Eq. 14 prints it", "hamilton-tay": "1/√(4 d_h), as in Tay et al.'s code"}

CLAIMS = (
    Claim(
        "score-cost",
        "A shared score takes 4 products and one softmax instead of 16 and four",
        "Table 1",
        "equal",
        "cost",
        "counted",
        _score_cost,
    ),
    Claim(
        "macs", "Multiply-accumulates of one layer", "Table 9", "equal in every printed digit", "cost", "counted", _macs
    ),
    Claim(
        "layer-speed",
        "A layer is faster with shared scores at every length",
        "Table 9",
        "speed-up above 1 at all four lengths, both fused",
        "layer-speed",
        "rounds on one machine",
        _faster_layer,
    ),
    Claim(
        "model-speed",
        "Whole models are faster on a CPU",
        "Table 3",
        "ratio of the real-time factors above 1, fused and explicit, at 15.3 s",
        "model-speed",
        "rounds on one machine",
        _faster_model,
    ),
    *(
        Claim(
            f"cpu-speed-up-{model}",
            f"{reference()['table3'][f'{model}-shared']['label'].split(',')[0]} is "
            f"{reference()['table3']['reduction'][f'{model}_cpu_speedup']} times as fast on a CPU",
            "Table 3",
            "within a tenth of that, with both rules fused or both explicit, at 15.3 s",
            "model-speed",
            "rounds on one machine",
            partial(_cpu_speedup, model),
        )
        for model in MODELS
    ),
    Claim(
        "theorems",
        "Bilinear scores of both kinds lie in one interaction subspace, and gradients aggregate",
        "Theorems C.1, C.3, Corollary C.2",
        "errors below 1e-10 in float64",
        "theorems",
        "exact",
        _theorems,
    ),
    Claim(
        "bilinear",
        "The scores of trained layers are bilinear, as C.1 assumes",
        "control",
        "‖S(2X)‖ = 4 ‖S(X)‖ within a tenth",
        "theorems",
        "every layer of one model",
        _bilinear,
        control=True,
    ),
    *(
        Claim(
            f"gradient-norms-{scale}",
            f"The gradient of the shared score is of the order of the four together; scale {_SCALE[scale]}",
            "Table 7",
            "ratio within a factor of 2, whatever the paper leaves open",
            "gradient-settings",
            "trials, in every setting",
            partial(_aggregate, scale),
        )
        for scale in SCALES
    ),
    Claim(
        "coupling",
        "Training couples the gradient norms of the components",
        "Table 8",
        "correlation rises by 0.2, in models whose W_Q, W_K have left their start (r < 0.8)",
        "ablation",
        "seeds",
        _coupled,
    ),
    Claim(
        "agreement",
        "Components rarely attend to the same position",
        "Tables 4, 10, 11",
        "top-1 agreement below 10 %",
        "agreement",
        "utterances of one model",
        _low_agreement,
    ),
    Claim(
        "agreement-chance",
        "… but more often than components of different utterances",
        "control",
        "above the level of shuffled utterances",
        "agreement",
        "utterances of one model",
        _above_chance,
        control=True,
    ),
    Claim(
        "agreement-flat",
        "… and not because their maps are flat",
        "control",
        "entropy below 0.9 of a flat map's",
        "agreement",
        "utterances of one model",
        _not_flat,
        control=True,
    ),
    Claim(
        "distributions",
        "The distributions of outputs nearly coincide",
        "Figure 3, Table 5",
        "KS below 0.05, quantile correlation above 0.99",
        "outputs",
        "utterances of one pair",
        _coincide,
    ),
    Claim(
        "distributions-seed",
        "… as nearly as those of two seeds of one rule",
        "control",
        "KS at most 0.05 more",
        "ablation",
        "seeds",
        _like_another_seed,
        control=True,
    ),
    *(
        claim
        for scale in SCALES
        for claim in (
            Claim(
                f"formulas-{scale}",
                f"Both formulas give like outputs on the same q, k, v; scale {_SCALE[scale]}",
                "Figure 4(b, c)",
                "correlation above 0.7 in both models",
                "outputs",
                "utterances of one pair",
                partial(_formulas, scale),
            ),
            Claim(
                f"formulas-mean-{scale}",
                "… and more than a plain mean of the values does",
                "control",
                "correlation above that of a mean without scores",
                "outputs",
                "utterances of one pair",
                partial(_beyond_mean, scale),
                control=True,
            ),
        )
    ),
    Claim(
        "independent",
        "Independently trained models are uncorrelated",
        "Figure 4(a)",
        "within ± 0.1, different seeds on both sides",
        "ablation",
        "seeds",
        _independent,
    ),
    Claim(
        "as-good",
        "Shared scores are as good as Hamilton scores",
        "Table 2",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(_as_good_as, "hamilton"),
    ),
    Claim(
        "as-good-tay",
        "… with the scale 1/√(4 d_h) too",
        "control",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(_as_good_as, "hamilton-tay"),
        control=True,
    ),
    Claim(
        "as-good-released",
        "… and as good as the head split of the released code",
        "control",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(_as_good_as, "head-is-component"),
        control=True,
    ),
    Claim(
        "as-good-maps",
        "… and as good as with four times the heads, which have as many maps",
        "control",
        "all differences within the margins",
        "ablation",
        "seeds and files",
        partial(_as_good_as, "shared-4-heads"),
        control=True,
    ),
    Claim(
        "bundled-twins",
        "The two bundled twins, of one seed, are equally good; this speaks of two files of weights, not of rules",
        "control",
        "all differences within the margins",
        "voicebank",
        "files, one seed",
        _bundled_twins,
        control=True,
    ),
    Claim(
        "dns",
        "Shared scores match Hamilton scores on DNS-Challenge 3",
        "Table 3",
        "all differences of DNSMOS within the margins",
        "dns",
        "files",
        _dns_twins,
    ),
    Claim(
        "images",
        "… on CIFAR-100",
        "Table 13",
        "difference in accuracy within one point",
        "images",
        "seeds",
        partial(_accuracy, "images"),
    ),
    Claim(
        "text",
        "… on SST-2",
        "Table 15",
        "difference in accuracy within one point",
        "text",
        "seeds",
        partial(_accuracy, "text"),
    ),
)
