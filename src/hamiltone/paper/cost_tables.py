"""Tables 1, 6, 9 and 12: what is counted and timed."""

from functools import partial

import torch

from hamiltone.analysis.cost import counted_products, hyperparameters, layer_costs
from hamiltone.benchmark.timing import interleaved, median_ms
from hamiltone.nn import QAttention, fold, make_rule
from hamiltone.nn.rules import COMPARED
from hamiltone.paper.reference import reference
from hamiltone.paper.result import Result, Row, row
from hamiltone.paper.study import Study

LENGTHS = (512, 1024, 2048, 4096)


def table1(study: Study) -> Result:
    """Counted by scoring all pairs of quaternion units."""
    printed, rows = reference()["table1"], []
    for name in COMPARED:
        products, maps = counted_products(make_rule(name))
        rows.append(row(name, "multiplications", printed[name]["multiplications"], products))
        rows.append(row(name, "softmaxes", printed[name]["softmaxes"], maps))
    return Result("table1", "Cost of a score", tuple(rows), "reproduced")


def table6(study: Study) -> Result:
    """The setting of the gradient analyses."""
    printed, ours = reference()["table6"], study.setting
    rows = (
        row("setting", "batch", printed["batch"], ours.batch),
        row("setting", "length", printed["length"], ours.length),
        row("setting", "d_model", printed["d_model"], 4 * ours.dim, note="reals; the paper does not say of what"),
        row("setting", "trials", printed["trials"], ours.trials),
        row("setting", "heads", None, ours.heads, decimals=0, note="not printed"),
    )
    why = (
        "The paper names neither loss nor heads nor query-key norm: ours are the mean square of the output, 4, and on."
    )
    return Result("table6", "Setting of the gradient analyses", rows, "reproduced", why, seed=ours.seed)


def table9(study: Study) -> Result:
    """MACs are counted; latencies are medians of interleaved runs of the fused, folded layers."""
    printed, costs = reference()["table9"], layer_costs(LENGTHS)
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(0)
        layers = {name: fold(QAttention(64, 8, make_rule(name))) for name in COMPARED}
        rows: list[Row] = []
        for length in LENGTHS:
            x = torch.randn(1, length, 4, 64)
            runs = {name: partial(layer, x) for name, layer in layers.items()}
            times = interleaved(runs, seconds=2.0 if study.quick else 20.0)
            ms = {name: median_ms(values) for name, values in times.items()}
            theirs, group = printed[f"t{length}"], f"T = {length}"
            for name in layers:
                macs = next(cost.macs for cost in costs if (cost.attention, cost.length) == (name, length))
                exact = float(f"{macs:.3g}") == theirs[f"{name}_macs"].value
                note = "equal in every printed digit" if exact else "differs"
                rows.append(row(group, f"{name} MACs", theirs[f"{name}_macs"], macs, note=note))
                rows.append(row(group, f"{name} ms", theirs[f"{name}_ms"], ms[name]))
            rows.append(row(group, "speed-up", theirs["speedup"], ms["hamilton"] / ms["shared"]))
    why = "Latencies are of this CPU, theirs of an A100; both of our layers are fused, how theirs ran is not said."
    return Result("table9", "MACs and latency of one attention layer", tuple(rows), "in part", why, seed=0)


def table12(study: Study) -> Result:
    """Read off the presets."""
    rows, printed = [], reference()["table12"]
    for group, name in (("quaternion", "qconformer"), ("real", "real-conformer")):
        found = hyperparameters(name)
        for quantity, number in printed[group].items():
            ours = 3 if quantity == "kernel" else getattr(found, quantity)
            rows.append(row(group, quantity.replace("_", " "), number, ours))
    why = "The real-valued model has 3 + 3 blocks: with the printed 4 + 4 it would exceed Table 2's 3.19 M parameters."
    return Result("table12", "Hyper-parameters", tuple(rows), "reproduced", why, wide=True)
