"""What is counted: products, softmaxes, multiply-accumulates, parameters and hyper-parameters."""

from dataclasses import replace

from hamiltone.analysis.cost import ScoreCost, counted_products, hyperparameters, layer_costs, model_costs, score_cost
from hamiltone.nn.rules import COMPARED, make_rule
from hamiltone.paper.measure.study import Study
from hamiltone.paper.results import LENGTHS, Costs

COUNTED = ("qtransformer", "qconformer", "qdensenet", "qtn", "real-conformer", "qtransformer-dns", "qconformer-dns")
"""The models of Tables 2 and 3."""


def costs(study: Study) -> Costs:
    """Tables 1 and 12, the counts of Table 9 and the sizes of the models of Tables 2 and 3."""
    study.use_data("counted, not run")
    return Costs(
        scores=tuple(_counted(name) for name in COMPARED),
        layers=tuple(layer_costs(LENGTHS)),
        models=tuple(model_costs(COUNTED)),
        hyperparameters=tuple(hyperparameters(name) for name in ("qconformer", "real-conformer")),
    )


def _counted(name: str) -> ScoreCost:
    """Products and softmaxes that a rule really computes when it scores every pair of units, whatever it declares."""
    products, maps = counted_products(make_rule(name))
    return replace(score_cost(name), multiplications=products, softmaxes=maps)
