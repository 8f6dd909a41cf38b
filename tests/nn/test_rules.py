import sys

import pytest

from hamiltone.nn import make_rule, register_rule, rules
from hamiltone.nn.rules import RULES, registered_rules

SOURCE = """
from hamiltone.nn import HamiltonScore, ScoreRule

class Silent(ScoreRule):
    def scores(self, q, k): ...

class ThreeMaps(Silent):
    maps, products = 3, 1

class Fine(Silent):
    products = 2

def tempered():
    return HamiltonScore()

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module beside the user, who works in a folder of their own; the table is afterwards as it was."""
    (tmp_path / "rules_beside_me.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    before = dict(RULES)
    yield "rules_beside_me"
    sys.modules.pop("rules_beside_me", None)
    RULES.clear()
    RULES.update(before)


def test_the_table_in_the_docstring_is_the_table():
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in rules.__doc__.splitlines() if "`" in line]
    rows = [row for row in rows if len(row) == 5]
    assert [row[0] for row in rows] == list(RULES)
    for name, _, maps, products, scale in rows:
        rule = make_rule(name)
        shown = rule.scale.value if rule.scale else "its own"
        assert (str(rule.maps), str(rule.products), shown) == (maps, products, scale)


def test_a_registered_rule_has_a_name_and_a_factory_is_as_good_as_a_class(module):
    for name in ("Fine", "tempered"):
        register_rule(f"{module}:{name}")
    assert registered_rules() == (f"{module}:Fine", f"{module}:tempered")
    assert make_rule(f"{module}:Fine").products == 2 and make_rule(f"{module}:tempered").maps == 4
    register_rule(f"{module}:Fine")
    assert len(registered_rules()) == 2


def test_the_working_directory_is_searched_for_this_import_only(module):
    before = list(sys.path)
    register_rule(f"{module}:Fine")
    assert sys.path == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("not_installed_anywhere:Rule", "cannot be imported: No module named 'not_installed_anywhere'"),
        ("rules_beside_me:Missing", "the module rules_beside_me has no rule Missing"),
        ("rules_beside_me:number", "has no rule number"),
        ("rules_beside_me:Silent", "must say how many real products"),
        ("rules_beside_me:ThreeMaps", "must have 1 map or 4 maps, got 3"),
        ("builtins:dict", "must make a hamiltone.nn.ScoreRule, got dict"),
        ("rules_beside_me:", "expected a rule as package.module:Name"),
        ("rules beside me:Fine", "expected a rule as package.module:Name"),
        ("hamiltonian", "expected a rule as package.module:Name"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_line(module, name, message):
    with pytest.raises(ValueError, match=message) as error:
        register_rule(name)
    assert "\n" not in str(error.value)
    assert not registered_rules()


def test_a_name_is_repeated_as_a_command_only_if_it_is_one():
    with pytest.raises(ValueError, match=r"got 'x:\\nrm -rf ~'$") as error:
        make_rule("x:\nrm -rf ~")
    assert "\n" not in str(error.value) and "--rule" not in str(error.value)


def test_a_name_alone_imports_nothing(module):
    with pytest.raises(ValueError, match="only imported on request"):
        make_rule(f"{module}:Fine")
    assert module not in sys.modules
