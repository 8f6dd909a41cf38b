"""Tables 1, 9 and 12: what is counted and timed."""

from hamiltone.analysis.cost import Hyperparameters
from hamiltone.paper.pages.section import Section, get, of, rounds_of
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.reference import reference
from hamiltone.paper.results import LENGTHS, Costs, LayerSpeeds
from hamiltone.paper.store import Evidence


def table1(evidence: Evidence) -> Section:
    """Counted by scoring all pairs of quaternion units."""
    costs = get(evidence, "cost", Costs)
    found = {} if costs is None else {one.attention: one for one in costs.scores}
    rows = [
        row(name, quantity, number, getattr(found[name], quantity) if name in found else None)
        for name, printed in reference()["table1"].items()
        for quantity, number in printed.items()
    ]
    return Section(tuple(rows))


def table9(evidence: Evidence) -> Section:
    """Counts are exact; latencies are medians of interleaved runs of fused, folded layers."""
    costs, speeds = get(evidence, "cost", Costs), get(evidence, "layer-speed", LayerSpeeds)
    macs = {} if costs is None else {(one.attention, one.length): one.macs for one in costs.layers}
    times = {} if speeds is None else {one.length: one for one in speeds.lengths}
    rows: list[Row] = []
    for length in LENGTHS:
        printed, group, ours = reference()["table9"][f"t{length}"], f"T = {length}", times.get(length)
        for name in ("shared", "hamilton"):
            count = macs.get((name, length))
            equal = count is not None and float(f"{count:.3g}") == printed[f"{name}_macs"].value
            note = "equal in every printed digit" if equal else ""
            rows.append(row(group, f"{name} MACs", printed[f"{name}_macs"], count, note=note))
            rows.append(row(group, f"{name} ms", printed[f"{name}_ms"], None if ours is None else ours.ms.get(name)))
        note = "" if ours is None else rounds_of(ours.speedup)
        rows.append(row(group, "speed-up", printed["speedup"], of(ours, lambda it: it.speedup), note=note))
        if ours is not None and "hamilton, unpadded" in ours.ms:
            slower = ours.ms["hamilton, unpadded"] / ours.ms["hamilton"]
            rows.append(row(group, "hamilton without padding, over with", None, slower))
    remark = (
        "Our latencies are from this CPU, theirs from an A100; our layers are both fused, the paper does not say how "
        "theirs ran. "
        "Fused Hamilton attention pads its values with zeros to four times their width, because the fast kernel wants "
        "values as wide as keys: it forms 16 products for the values of a pair where 4 would do, 32 instead of 20 with "
        "the scores. The rows *without padding* show how much longer it takes without."
    )
    return Section(tuple(rows), remark)


def table12(evidence: Evidence) -> Section:
    """Read off the presets, and the kernel off the built model."""
    costs = get(evidence, "cost", Costs)
    names = {"quaternion": "qconformer", "real": "real-conformer"}
    found = {} if costs is None else {one.preset: one for one in costs.hyperparameters}
    rows = [
        row(group, quantity.replace("_", " "), number, getattr(found[names[group]], quantity) if found else None)
        for group, printed in reference()["table12"].items()
        for quantity, number in printed.items()
    ]
    return Section(tuple(rows), _blocks(found.get(names["real"])), wide=True)


def _blocks(ours: Hyperparameters | None) -> str:
    """Why the real-valued model has other blocks than Table 12 says; empty if it was not counted or has the same."""
    theirs, size = reference()["table12"]["real"], reference()["table2"]["real-conformer"]["params"]
    printed = (theirs["encoder_blocks"], theirs["decoder_blocks"])
    if ours is None or (ours.encoder_blocks, ours.decoder_blocks) == tuple(one.value for one in printed):
        return ""
    return (
        f"The real-valued model has {ours.encoder_blocks} + {ours.decoder_blocks} blocks: with the printed "
        f"{printed[0]} + {printed[1]} it would exceed Table 2's {size} M parameters."
    )
