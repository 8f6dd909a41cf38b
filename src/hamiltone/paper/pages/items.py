"""Every table and figure by name: its title, what it draws on, and how it is set beside the paper's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hamiltone.errors import InputError
from hamiltone.paper.pages import (
    agreement_views,
    classifier_views,
    cost_views,
    figure_views,
    gradient_views,
    speech_views,
    twin_views,
)
from hamiltone.paper.pages.section import Section
from hamiltone.paper.results import MODEL_SPEEDS, TYPES
from hamiltone.paper.store import Evidence

View = Callable[[Evidence], Section]


@dataclass(frozen=True)
class Item:
    """A table or figure; `whole` are the commands that would make all of it where everything is at hand."""

    title: str
    needs: tuple[str, ...]
    view: View
    whole: tuple[str, ...] = ()


def _analysis(name: str) -> tuple[str, ...]:
    return (f"hamiltone reproduce {name} --data VoiceBank",)


_IMAGES = "cifar-100-binary.tar.gz"
ITEMS: dict[str, Item] = {
    "table1": Item("Cost of a score", ("cost",), cost_views.table1),
    "table2": Item(
        "VoiceBank+DEMAND",
        ("cost", "voicebank"),
        speech_views.table2,
        (
            "hamiltone train recipes/voicebank.toml data.root=VoiceBank data.cache=cache",
            "hamiltone evaluate --noisy VoiceBank/noisy_testset_wav --clean VoiceBank/clean_testset_wav "
            "--model runs/voicebank/best.safetensors --out results/evaluate-voicebank.json",
            "hamiltone reproduce table2",
        ),
    ),
    "table3": Item(
        "DNS-Challenge 3 and speed",
        ("cost", *MODEL_SPEEDS, "dns"),
        speech_views.table3,
        (
            "hamiltone train recipes/dns3.toml data.root=DNS run.folder=runs/dns3-shared",
            "hamiltone evaluate --noisy DNS/dev_testset --model runs/dns3-shared/best.safetensors --seconds 10 "
            "--out results/dns/dns3-shared.json",
            "hamiltone reproduce table3",
        ),
    ),
    "table4": Item("Agreement of components", ("agreement",), agreement_views.table4, _analysis("table4")),
    "table5": Item(
        "Three domains",
        ("outputs", "images", "text", "classifier-speed", "dns"),
        classifier_views.table5,
        _analysis("table5"),
    ),
    "table6": Item("Setting of the gradient analyses", ("gradients",), gradient_views.table6),
    "table7": Item("Gradient norms", ("gradients",), gradient_views.table7, ("hamiltone reproduce gradient-settings",)),
    "table8": Item(
        "Correlation of gradient norms", ("gradients",), gradient_views.table8, ("hamiltone reproduce table8",)
    ),
    "table9": Item(
        "MACs and latency of one attention layer",
        ("cost", "layer-speed"),
        cost_views.table9,
        ("hamiltone reproduce table9",),
    ),
    "table10": Item("Agreement by layer and head", ("agreement",), agreement_views.table10, _analysis("table10")),
    "table11": Item("Agreement and chance", ("agreement",), agreement_views.table11, _analysis("table11")),
    "table12": Item("Hyper-parameters", ("cost",), cost_views.table12),
    "table13": Item(
        "CIFAR-100",
        ("images", "classifier-speed"),
        classifier_views.table13,
        (
            f"hamiltone train recipes/cifar100.toml data.root={_IMAGES} seed=42 run.folder=runs/cifar100-shared-42",
            f"hamiltone accuracy runs/cifar100-shared-42/best.safetensors --data {_IMAGES} --json",
            "hamiltone runs runs/cifar100-shared-42 --json",
        ),
    ),
    "table14": Item(
        "Correlation of gradient norms, CIFAR-100",
        ("images",),
        classifier_views.table14,
        (
            f"hamiltone train recipes/cifar100.toml data.root={_IMAGES} model.attention=hamilton seed=42 "
            "run.folder=runs/cifar100-hamilton-42",
            "hamiltone analyse gradients --model runs/cifar100-hamilton-42/best.safetensors --dim 64 --length 16 "
            "--json",
        ),
    ),
    "table15": Item(
        "SST-2",
        ("text", "classifier-speed"),
        classifier_views.table15,
        (
            "hamiltone train recipes/sst2.toml data.root=SST-2 seed=42 run.folder=runs/sst2-shared-42",
            "hamiltone accuracy runs/sst2-shared-42/best.safetensors --data SST-2 --json",
        ),
    ),
    "figure1": Item("Two attentions", ("figure1",), figure_views.picture("figure1"), _analysis("figure1")),
    "figure2": Item("Attention maps by component", ("figure2",), figure_views.picture("figure2"), _analysis("figure2")),
    "figure3": Item(
        "Distributions of attention outputs", ("outputs", "figure3"), figure_views.figure3, _analysis("figure3")
    ),
    "figure4": Item(
        "Correlation of attention outputs", ("outputs", "figure4"), figure_views.figure4, _analysis("figure4")
    ),
    "figure5": Item("Spectrograms", ("figure5",), figure_views.picture("figure5"), _analysis("figure5")),
    "figure6": Item("Architecture", ("figure6",), figure_views.picture("figure6"), ("hamiltone reproduce figure6",)),
    "theorems": Item("Theorems of Appendix C", ("theorems",), gradient_views.theorems),
    "gradient-settings": Item(
        "What Table 7 leaves open, swept",
        ("gradient-settings",),
        gradient_views.gradient_settings,
        ("hamiltone reproduce gradient-settings",),
    ),
    "ablation": Item(
        "Score rules trained alike, over seeds",
        ("ablation",),
        twin_views.ablation,
        ("hamiltone reproduce ablation --data VoiceBank --jobs 2",),
    ),
}
BY_NAME_ONLY = ("ablation",)
"""Not part of ``all``: it trains for a day or more."""


def expand(names: Iterable[str]) -> list[str]:
    """The names of tables, figures and measurements with ``all`` spelt out; an InputError lists what there is."""
    everything = [name for name in ITEMS if name not in BY_NAME_ONLY]
    wanted = [one for name in names for one in (everything if name == "all" else [name])]
    if unknown := [name for name in wanted if name not in ITEMS and name not in TYPES]:
        raise InputError(f"there is no {unknown[0]!r}; choose all, pages or some of {', '.join(ITEMS | TYPES)}")
    return list(dict.fromkeys(wanted))


def measurements(names: Iterable[str]) -> list[str]:
    """What must be measured for these tables, figures and measurements, each once."""
    return list(dict.fromkeys(need for name in names for need in (ITEMS[name].needs if name in ITEMS else (name,))))
