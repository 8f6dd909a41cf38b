"""The criteria for claims, computed from typed results: one function for each kind of question."""

from itertools import product

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
    known,
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
    Classifier,
    Costs,
    LayerSpeeds,
    ModelSpeeds,
    Quality,
    SettingSweep,
    Theorems,
    Twins,
)
from hamiltone.paper.store import Evidence

_DECIDED = (Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNDECIDED)


def score_cost(evidence: Evidence) -> Judgement:
    """Products and softmaxes are those of Table 1."""
    printed, costs = reference()["table1"], {one.attention: one for one in find(evidence, "cost", Costs).scores}
    ours = {name: pick(costs, name) for name in ("shared", "hamilton")}
    equal = all(
        (one.multiplications, one.softmaxes)
        == (printed[name]["multiplications"].value, printed[name]["softmaxes"].value)
        for name, one in ours.items()
    )
    numbers = [(f"{name} products", float(one.multiplications)) for name, one in ours.items()]
    return Judgement(exactly(equal), tuple(numbers))


def macs(evidence: Evidence) -> Judgement:
    """Counts are those of Table 9, in every printed digit."""
    costs = {(one.attention, one.length): one.macs for one in find(evidence, "cost", Costs).layers}
    printed = reference()["table9"]
    parts = [
        exactly(float(f"{pick(costs, (rule, length)):.3g}") == printed[f"t{length}"][f"{rule}_macs"].value)
        for rule, length in product(("shared", "hamilton"), LENGTHS)
    ]
    return Judgement(every(*parts), (("counts compared", float(len(parts))),))


def faster_layer(evidence: Evidence) -> Judgement:
    """A layer is faster at every length."""
    speeds = {one.length: one.speedup for one in find(evidence, "layer-speed", LayerSpeeds).lengths}
    numbers = [(f"T = {length}", pick(speeds, length)) for length in LENGTHS]
    return Judgement(every(*(above(one, 1.0) for _, one in numbers)), tuple(numbers))


def faster_model(evidence: Evidence) -> Judgement:
    """Whole models are faster by either path."""
    numbers = [
        (f"{model}, {path}", _ratio(evidence, model, path)) for model in MODELS for path in ("fused", "explicit")
    ]
    return Judgement(every(*(above(one, 1.0) for _, one in numbers)), tuple(numbers))


def cpu_speedup(model: str, evidence: Evidence) -> Judgement:
    """The printed speed-up of a model is met by one of the matched pairs of paths."""
    printed, share = reference()["table3"]["reduction"][f"{model}_cpu_speedup"].value, line("speedup")
    numbers = [(path, _ratio(evidence, model, path)) for path in ("fused", "explicit")]
    parts = [within(one, (1 - share) * printed, (1 + share) * printed) for _, one in numbers]
    return Judgement(either(*parts), tuple(numbers))


def _ratio(evidence: Evidence, model: str, path: str) -> Spread:
    """Hamilton over shared, both by one path, at the mean length of the paper's utterances."""
    ratios = find(evidence, "model-speed-15s", ModelSpeeds).ratios
    found = {(one.model, one.seconds, one.hamilton_path, one.shared_path): one.ratio for one in ratios}
    return pick(found, (model, MEAN_SECONDS, path, path))


def theorems(evidence: Evidence) -> Judgement:
    """The identities of Appendix C hold."""
    found = find(evidence, "theorems", Theorems)
    checks = {(one.d_in, one.d_h): one for one in found.subspaces}
    errors = [
        error
        for size in SUBSPACES
        for one in (pick(checks, size),)
        for error in (one.hamilton_error, one.shared_error, one.hamilton_distance, one.shared_distance)
    ]
    errors += [found.gradients.aggregation_error, found.gradients.separation_error, found.gradients.crossing]
    worst = max(map(known, errors))
    return Judgement(exactly(worst < line("identity")), (("largest error", worst),))


def bilinear(evidence: Evidence) -> Judgement:
    """Doubling the input makes the scores of every layer four times as large."""
    layers = some(find(evidence, "theorems", Theorems).homogeneity)
    ratios = [known(one.ratio) for one in layers]
    near = 4 * line("homogeneity")
    numbers = (("smallest ‖S(2X)‖/‖S(X)‖", min(ratios)), ("largest", max(ratios)))
    return Judgement(exactly(all(abs(ratio - 4) < near for ratio in ratios)), numbers)


def aggregate(scale: str, evidence: Evidence) -> Judgement:
    """The shared norm is of the order of the sum of the four in every setting."""
    landings = {one.choice: one.ratio for one in find(evidence, "gradient-settings", SettingSweep).landings}
    design = product(LOSSES, HEADS, (True, False), INITS, (True, False))
    ratios = [pick(landings, Choice(*choice, scale=scale)) for choice in design]
    order = line("same_order")
    verdicts = [within(one, 1 / order, order) for one in ratios]
    means = sorted(one.mean for one in ratios)
    counts = ((f"settings {one.value}", float(verdicts.count(one))) for one in _DECIDED)
    numbers = (("smallest ratio", means[0]), ("largest", means[-1]), ("settings", float(len(means))), *counts)
    return Judgement(alike(*verdicts), numbers)


def _of_trained(found: Twins, verdict: Verdict, *numbers: tuple[str, Spread]) -> Judgement:
    """A judgement of trained weights; undecided where W_Q and W_K have hardly left their start.

    Both rules must be there, from the same seeds: one run fewer is a gap in what the verdict rests on.
    """
    variants = {one.name: one.runs for one in found.variants}
    shared, hamilton = (some(pick(variants, name)) for name in ("shared", "hamilton"))
    if [run.seed for run in shared] != [run.seed for run in hamilton]:
        raise MissingError("a seed of one rule")
    runs = [*shared, *hamilton]
    start = max(known(one) for run in runs for one in (run.query_correlation, run.key_correlation))
    decided = verdict if start < line("moved") else Verdict.UNDECIDED
    return Judgement(decided, (*numbers, ("W_Q, W_K with their start, at most", start)))


def coupled(evidence: Evidence) -> Judgement:
    """Training raises the correlation of gradient norms."""
    found = find(evidence, "ablation", Twins)
    change = found.coupling.change
    return _of_trained(found, above(change, line("coupling")), ("change", change), ("after", found.coupling.after))


def low_agreement(evidence: Evidence) -> Judgement:
    """Components rarely have their largest weight at the same position."""
    found = find(evidence, "ablation", Twins)
    top = found.maps.agreement
    return _of_trained(found, below(top, line("low_agreement")), ("top-1", top))


def above_chance(evidence: Evidence) -> Judgement:
    """They have it more often than components of different utterances."""
    found = find(evidence, "ablation", Twins)
    excess = found.maps.excess
    return _of_trained(found, above(excess, 0.0), ("more than across utterances", excess))


def not_flat(evidence: Evidence) -> Judgement:
    """Their maps are not flat."""
    found = find(evidence, "ablation", Twins)
    maps = found.maps
    verdict = below(maps.entropy, line("entropy"))
    return _of_trained(found, verdict, ("entropy", maps.entropy), ("Jensen-Shannon distance", maps.distance))


def coincide(evidence: Evidence) -> Judgement:
    """Output distributions nearly coincide."""
    found = find(evidence, "ablation", Twins)
    outputs = found.both_rules
    verdict = every(below(outputs.ks, line("ks")), above(outputs.quantile_correlation, line("quantile_correlation")))
    return _of_trained(found, verdict, ("KS", outputs.ks), ("quantile correlation", outputs.quantile_correlation))


def like_another_seed(evidence: Evidence) -> Judgement:
    """They do so as nearly as those of two seeds of one rule."""
    found = find(evidence, "ablation", Twins)
    beyond = found.ks_beyond_seed
    numbers = (("two rules", found.both_rules.ks), ("two seeds of one rule", found.same_rule.ks))
    return _of_trained(found, below(beyond, line("ks_beyond_seed")), ("KS beyond a seed's", beyond), *numbers)


def _both_models(found: tuple[Spread, ...]) -> tuple[tuple[str, Spread], ...]:
    if len(found) != 2:
        raise MissingError("one of the models")
    return tuple(zip(("shared models", "Hamilton models"), found, strict=True))


def formulas(scale: str, evidence: Evidence) -> Judgement:
    """Both formulas give similar outputs."""
    found = find(evidence, "ablation", Twins)
    both = pick(found.formulas, scale)
    verdict = every(*(above(one, line("correlated")) for one in both))
    return _of_trained(found, verdict, *_both_models(both))


def beyond_mean(scale: str, evidence: Evidence) -> Judgement:
    """They do so more than a plain mean of the values."""
    found = find(evidence, "ablation", Twins)
    both = pick(found.beyond, scale)
    return _of_trained(found, every(*(above(one, 0.0) for one in both)), *_both_models(both))


def independent(evidence: Evidence) -> Judgement:
    """Models of different seeds are uncorrelated."""
    found, limit = find(evidence, "ablation", Twins), line("uncorrelated")
    one = found.both_rules.correlation
    return _of_trained(found, within(one, -limit, limit), ("correlation", one))


def as_good_as(variant: str, evidence: Evidence) -> Judgement:
    """Shared scores and another variant are equally good, by all metrics."""
    return equivalent(pick(find(evidence, "ablation", Twins).differences, variant), METRICS)


def bundled_twins(evidence: Evidence) -> Judgement:
    """The bundled twins are equally good, by all metrics."""
    return equivalent(pick(find(evidence, "voicebank", Quality).twins, "compact-shared"), METRICS)


def dns_twins(shared: str, evidence: Evidence) -> Judgement:
    """Two models of DNS-3 are equally good, by all ratings."""
    ratings = ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808")
    return equivalent(pick(find(evidence, "dns", Quality).twins, shared), ratings)


def accuracy(measurement: str, evidence: Evidence) -> Judgement:
    """Classifiers with shared and with Hamilton scores are equally accurate."""
    found, limit = need(find(evidence, measurement, Classifier).difference), need(margin("accuracy"))
    return Judgement(within(found, -limit, limit), (("shared - Hamilton, points", found),))
