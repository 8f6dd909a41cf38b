"""What a measurement returns: one dataclass for each, with numbers and no words about them."""

from dataclasses import dataclass

from hamiltone.analysis.agreement import TopAgreement
from hamiltone.analysis.bilinear import Homogeneity
from hamiltone.analysis.cost import Hyperparameters, LayerCost, ModelCost, ScoreCost
from hamiltone.analysis.gradients import Correlation, NormStudy
from hamiltone.analysis.maps import MapStudy
from hamiltone.analysis.movement import Movement
from hamiltone.analysis.settings import Landing
from hamiltone.analysis.similarity import Similarity
from hamiltone.analysis.statistics import Spread
from hamiltone.analysis.subspace import GradientCheck, SubspaceCheck
from hamiltone.benchmark.classifier import ClassifierRow

LENGTHS = (512, 1024, 2048, 4096)
"""Sequence lengths of Table 9."""
SUBSPACES = ((5, 2), (16, 4), (32, 8))
"""d_in and d_h for the checks of Appendix C."""
METRICS = ("pesq", "csig", "cbak", "covl", "stoi", "sisdr")
"""The metrics of Table 2."""
MODELS = ("qtransformer", "qconformer")
"""The models whose speed Table 3 compares."""
MEAN_SECONDS = 15.3
"""The mean length of the utterances behind the paper's CPU times."""
MODEL_SPEEDS = {"model-speed": 4.0, "model-speed-10s": 10.0, "model-speed-15s": MEAN_SECONDS}
"""Measurements of Table 3's CPU times, by seconds of audio: each takes minutes and can be made on its own."""


@dataclass(frozen=True)
class Costs:
    """What is counted: Tables 1 and 12, the multiply-accumulates of Table 9, the sizes of Tables 2 and 3."""

    scores: tuple[ScoreCost, ...]
    layers: tuple[LayerCost, ...]
    models: tuple[ModelCost, ...]
    hyperparameters: tuple[Hyperparameters, ...]


@dataclass(frozen=True)
class LayerSpeed:
    """One length of Table 9: median milliseconds by method, and Hamilton over shared, fused, over rounds."""

    length: int
    ms: dict[str, float]
    speedup: Spread


@dataclass(frozen=True)
class LayerSpeeds:
    """All lengths of Table 9."""

    lengths: tuple[LayerSpeed, ...]


@dataclass(frozen=True)
class SpeedCell:
    """One way to run a whole model: median real-time factor with its 10th and 90th percentile."""

    model: str
    rule: str
    path: str
    seconds: float
    rtf: float
    rtf_p10: float
    rtf_p90: float


@dataclass(frozen=True)
class SpeedRatio:
    """Hamilton over shared scores of one model, by the path of each, over rounds."""

    model: str
    seconds: float
    hamilton_path: str
    shared_path: str
    ratio: Spread


@dataclass(frozen=True)
class ModelSpeeds:
    """Table 3's CPU times on audio of one length."""

    cells: tuple[SpeedCell, ...]
    ratios: tuple[SpeedRatio, ...]


@dataclass(frozen=True)
class SystemScores:
    """A report of ``hamiltone evaluate``: the mean of each metric over files."""

    system: str
    files: int
    scores: dict[str, Spread]


@dataclass(frozen=True)
class Quality:
    """Every report of a test set; `twins` is, for each NAME-shared with a NAME-hamilton, the difference file by file.

    Its keys are the names of the systems with shared scores, then the metrics.
    """

    systems: tuple[SystemScores, ...]
    twins: dict[str, dict[str, Spread]]


@dataclass(frozen=True)
class Agreements:
    """Tables 4, 10 and 11, and what the maps themselves look like, if that was measured."""

    tops: tuple[TopAgreement, ...]
    maps: MapStudy | None


@dataclass(frozen=True)
class Outputs:
    """Figures 3 and 4."""

    similarity: Similarity


@dataclass(frozen=True)
class StartCorrelations:
    """Gradient norms of untrained attention: with new weights in each trial, and with one set of weights."""

    new_weights: Correlation
    same_weights: Correlation


@dataclass(frozen=True)
class Gradients:
    """Tables 6 to 8. `before` and `after` are the same layers of one model at its start and after its training."""

    norms: NormStudy
    start: dict[str, StartCorrelations]
    before: dict[str, Correlation]
    after: dict[str, Correlation]
    movement: tuple[Movement, ...]


@dataclass(frozen=True)
class SettingSweep:
    """The sweep over what the paper leaves open about Table 7."""

    landings: tuple[Landing, ...]


@dataclass(frozen=True)
class Theorems:
    """Appendix C, and whether trained layers have the bilinear scores that it assumes."""

    subspaces: tuple[SubspaceCheck, ...]
    gradients: GradientCheck
    homogeneity: tuple[Homogeneity, ...]


@dataclass(frozen=True)
class SeedAccuracy:
    """The accuracy in percent of one trained classifier."""

    attention: str
    seed: int
    percent: float


@dataclass(frozen=True)
class Classifier:
    """Reports of other commands on trained classifiers; `difference` is shared minus Hamilton, seed by seed.

    `steps` are the lengths of the trainings, each once. `before` and `after` are the correlations of gradient norms at
    the start and in each trained layer.
    """

    accuracies: tuple[SeedAccuracy, ...]
    difference: Spread | None
    minutes: dict[str, tuple[float, ...]]
    steps: tuple[int, ...]
    similarity: dict[str, Spread]
    before: Correlation | None
    after: dict[str, Correlation]


@dataclass(frozen=True)
class ClassifierSpeeds:
    """A training step of the image classifier and a batch of the text classifier, with every attention."""

    rows: tuple[ClassifierRow, ...]


@dataclass(frozen=True)
class SeedRun:
    """One training: mean scores on the test set, and how W_Q and W_K correlate with their start, over layers."""

    seed: int
    step: int
    scores: dict[str, float]
    query_correlation: float
    key_correlation: float


@dataclass(frozen=True)
class VariantRuns:
    """A score rule with its heads, trained from several seeds."""

    name: str
    heads: int
    maps: int
    runs: tuple[SeedRun, ...]


@dataclass(frozen=True)
class OutputsOverSeeds:
    """Attention outputs of two models of different seeds, over all such pairs; intervals are over seeds.

    `ks` is that of the values of all utterances together.
    """

    ks: Spread
    wasserstein: Spread
    quantile_correlation: Spread
    correlation: Spread


@dataclass(frozen=True)
class Coupling:
    """The mean correlation of gradient norms over layers, before and after training; intervals are over seeds."""

    before: Spread
    after: Spread
    change: Spread


@dataclass(frozen=True)
class MapsOverSeeds:
    """The four maps of Hamilton attention: top-1 agreement of components and by how much it exceeds that of different
    utterances, relative entropy, and Jensen-Shannon distance; intervals are over seeds."""

    agreement: Spread
    excess: Spread
    entropy: Spread
    distance: Spread


@dataclass(frozen=True)
class Twins:
    """Score rules trained alike from several seeds.

    `differences` are shared minus another variant, by its name and by metric, over seeds and files. `same_rule` is of
    two models with shared or two with Hamilton scores, and `ks_beyond_seed` is how much further apart the outputs of
    the two rules are. `formulas` and `beyond` are as in `Similarity`, for the models with shared scores and for those
    with Hamilton scores, over seeds.
    """

    files: int
    variants: tuple[VariantRuns, ...]
    differences: dict[str, dict[str, Spread]]
    maps: MapsOverSeeds
    both_rules: OutputsOverSeeds
    same_rule: OutputsOverSeeds
    ks_beyond_seed: Spread
    formulas: dict[str, tuple[Spread, Spread]]
    beyond: dict[str, tuple[Spread, Spread]]
    coupling: Coupling


@dataclass(frozen=True)
class Picture:
    """A drawing, by its path below the folder of results."""

    file: str


Result = (
    Costs
    | LayerSpeeds
    | ModelSpeeds
    | Quality
    | Agreements
    | Outputs
    | Gradients
    | SettingSweep
    | Theorems
    | Classifier
    | ClassifierSpeeds
    | Twins
    | Picture
)

TYPES: dict[str, type[Result]] = {
    "cost": Costs,
    "layer-speed": LayerSpeeds,
    **dict.fromkeys(MODEL_SPEEDS, ModelSpeeds),
    "voicebank": Quality,
    "dns": Quality,
    "agreement": Agreements,
    "outputs": Outputs,
    "gradients": Gradients,
    "gradient-settings": SettingSweep,
    "theorems": Theorems,
    "images": Classifier,
    "text": Classifier,
    "classifier-speed": ClassifierSpeeds,
    "ablation": Twins,
    **{f"figure{number}": Picture for number in range(1, 7)},
}
"""Every measurement by name."""
