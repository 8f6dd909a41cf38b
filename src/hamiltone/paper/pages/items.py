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
    """A table or figure; `whole` are commands that make it where everything is at hand, `more` what they leave out."""

    title: str
    needs: tuple[str, ...]
    view: View
    whole: tuple[str, ...] = ()
    more: str = ""


def _analysis(name: str) -> tuple[str, ...]:
    return (f"hamiltone reproduce {name} --data VoiceBank",)


def _best(name: str) -> str:
    return f"runs/{name}/best.safetensors"


def _classifier(recipe: str, data: str, attention: str, *settings: str) -> str:
    """A training of one attention from one seed."""
    words = [f"model.attention={attention}", *settings, "seed=42", f"run.folder=runs/{recipe}-{attention}-42"]
    return f"hamiltone train recipes/{recipe}.toml data.root={data} {' '.join(words)}"


def _accuracy(recipe: str, data: str) -> str:
    return f"hamiltone accuracy {_best(f'{recipe}-*')} --data {data} --json > results/accuracy-{recipe}.json"


def _similarity(recipe: str, data: str) -> str:
    models = " ".join(
        f"--{which} {_best(f'{recipe}-{attention}-42')}"
        for which, attention in (("first", "shared"), ("second", "hamilton"))
    )
    return f"hamiltone analyse similarity {models} --data {data} --samples 64 --json > results/similarity-{recipe}.json"


def _dns(attention: str) -> tuple[str, ...]:
    """A training on DNS-Challenge 3, and its report."""
    name = f"dns3-{attention}"
    return (
        f"hamiltone train recipes/dns3.toml data.root=DNS model.attention={attention} run.folder=runs/{name}",
        f"hamiltone evaluate --noisy DNS/dev_testset --model {_best(name)} --seconds 10 --out results/dns/{name}.json",
    )


_IMAGES, _SENTENCES = "cifar-100-binary.tar.gz", "SST-2"
_SEEDS = "the same with the other seeds of the paper, 123 and 456"
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
            "hamiltone reproduce table2 --data VoiceBank",
        ),
        "the same for the other models, with `model.preset`, `model.attention` and a `run.folder` of the model's name",
    ),
    "table3": Item(
        "DNS-Challenge 3 and speed",
        ("cost", *MODEL_SPEEDS, "dns"),
        speech_views.table3,
        (
            "hamiltone evaluate --noisy DNS/dev_testset --unprocessed --seconds 10 --out results/dns/unprocessed.json",
            *_dns("shared"),
            *_dns("hamilton"),
            "hamiltone reproduce table3",
        ),
        "the same for the QTransformer, with `model.preset=qtransformer-dns` and `dns3-qtransformer` in all names, and "
        "for the real-valued Conformer, with `model.preset=real-conformer-dns` and `real-conformer`",
    ),
    "table4": Item("Agreement of components", ("agreement",), agreement_views.table4, _analysis("table4")),
    "table5": Item(
        "Three domains",
        ("outputs", "images", "text", "classifier-speed", "dns"),
        classifier_views.table5,
        (_similarity("cifar100", _IMAGES), _similarity("sst2", _SENTENCES), *_analysis("table5")),
        "the trainings of Tables 3, 13 and 15 first",
    ),
    "table6": Item(
        "Setting of the gradient analyses", ("gradients",), gradient_views.table6, ("hamiltone reproduce table6",)
    ),
    "table7": Item("Gradient norms", ("gradients",), gradient_views.table7, ("hamiltone reproduce table7",)),
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
            _classifier("cifar100", _IMAGES, "shared"),
            _classifier("cifar100", _IMAGES, "hamilton"),
            _classifier("cifar100", _IMAGES, "qtn", "model.feed_forward=64"),
            _accuracy("cifar100", _IMAGES),
            "hamiltone runs runs/cifar100-* --json > results/runs-cifar100.json",
            "hamiltone reproduce table13",
        ),
        _SEEDS,
    ),
    "table14": Item(
        "Correlation of gradient norms, CIFAR-100",
        ("images",),
        classifier_views.table14,
        (
            _classifier("cifar100", _IMAGES, "hamilton"),
            f"hamiltone analyse gradients --model {_best('cifar100-hamilton-42')} --dim 64 --length 16 --json "
            "> results/gradients-cifar100.json",
            "hamiltone reproduce table14",
        ),
    ),
    "table15": Item(
        "SST-2",
        ("text", "classifier-speed"),
        classifier_views.table15,
        (
            _classifier("sst2", _SENTENCES, "shared"),
            _classifier("sst2", _SENTENCES, "hamilton"),
            _accuracy("sst2", _SENTENCES),
            "hamiltone reproduce table15",
        ),
        "the same with two other seeds",
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
"""Not part of ``all``: it trains for hours."""


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
