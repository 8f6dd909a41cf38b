"""Every table and figure by name, and the one way to make them."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace

from hamiltone.benchmark.machine import this_machine
from hamiltone.errors import InputError
from hamiltone.paper import (
    ablation,
    attention_tables,
    classifier_tables,
    cost_tables,
    diagrams,
    figures,
    speech_tables,
)
from hamiltone.paper.result import Result, write_result
from hamiltone.paper.study import Options, Study

ITEMS: dict[str, Callable[[Study], Result]] = {
    "table1": cost_tables.table1,
    "table2": speech_tables.table2,
    "table3": speech_tables.table3,
    "table4": attention_tables.table4,
    "table5": attention_tables.table5,
    "table6": cost_tables.table6,
    "table7": attention_tables.table7,
    "table8": attention_tables.table8,
    "table9": cost_tables.table9,
    "table10": attention_tables.table10,
    "table11": attention_tables.table11,
    "table12": cost_tables.table12,
    "table13": classifier_tables.table13,
    "table14": classifier_tables.table14,
    "table15": classifier_tables.table15,
    "figure1": diagrams.figure1,
    "figure2": figures.figure2,
    "figure3": figures.figure3,
    "figure4": figures.figure4,
    "figure5": figures.figure5,
    "figure6": diagrams.figure6,
    "theorems": attention_tables.theorems,
    "ablation": ablation.ablation,
    "seeds": ablation.seeds,
}


def expand(names: Iterable[str]) -> list[str]:
    """The names with ``all`` spelt out; an InputError lists what there is."""
    wanted = [one for name in names for one in (ITEMS if name == "all" else [name])]
    if unknown := [name for name in wanted if name not in ITEMS]:
        raise InputError(f"there is no {unknown[0]!r}; choose all or some of {', '.join(ITEMS)}")
    return list(dict.fromkeys(wanted))


def reproduce(names: Iterable[str], options: Options, tick: Callable[[str], None] = lambda _: None) -> Iterator[Result]:
    """Make the results of these names one by one, and keep each; `tick` is told what comes next."""
    wanted, study = expand(names), Study(options)
    for name in wanted:
        tick(name)
        start = time.perf_counter()
        result = ITEMS[name](study)
        flags = " --quick" * options.quick + " --data VoiceBank" * (options.data is not None)
        made = {
            "quick": options.quick,
            "command": f"hamiltone reproduce {name}{flags}",
            "seconds": round(time.perf_counter() - start, 1),
            **asdict(this_machine()),
        }
        result = replace(result, made=made)
        write_result(options.results, result)
        yield result
