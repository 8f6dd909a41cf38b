import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamiltone.corpus.keep import parse_filter
from hamiltone.errors import InputError

ROW = {"a": 3, "b": 2.5, "word": "yes", "none": None, "flag": True}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a > 2.8", True),
        ("a>3", False),
        ("a >= 3 and b < 2.6", True),
        ("a < 1 or b == 2.5", True),
        ("not a < 1", True),
        ("not (a > 1 or b > 1)", False),
        ("a > 5 and b > 9 or word == 'yes'", True),
        ("a > 5 and (b > 9 or word == 'yes')", False),
        ('word != "no"', True),
        ("b > -1e3", True),
        ("none > 1", False),
        ("missing < 1", False),
        ("word > 1", False),
        ("a == 'yes'", False),
    ],
)
def test_expressions_mean_what_they_say(text, kept):
    assert parse_filter(text)(ROW) is kept


@pytest.mark.parametrize(
    "text", ["", "a", "a >", "a > b", "> 1", "a > 1 b > 2", "(a > 1", "a > 1)", "a = 1", "a > 1;", "f(1) > 2", "a (1)"]
)
def test_what_is_no_expression_is_refused_in_one_line(text):
    with pytest.raises(InputError, match="--keep takes comparisons") as error:
        parse_filter(text)
    assert "\n" not in str(error.value)


@given(st.text(alphabet="ab<>=!()'\" .1-andornt_", max_size=30))
def test_any_text_is_a_filter_or_an_input_error(text):
    try:
        keep = parse_filter(text)
    except InputError:
        return
    assert keep(ROW) in (True, False) and keep.fields


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_and_or_and_not_agree_with_python(a, b, x, y):
    text = f"not a < {x} and b >= {y} or a == b_ or (a != {y} and not b > {x})".replace("a == b_", f"a == {y}")
    expected = (not a < x and b >= y) or a == y or (a != y and not b > x)
    assert parse_filter(text)({"a": a, "b": b}) is expected


@pytest.mark.parametrize("text", ["(" * 5000 + "a > 1" + ")" * 5000, "not " * 5000 + "a > 1"], ids=["brackets", "not"])
def test_expressions_that_are_nested_too_deep_are_refused_in_one_line(text):
    with pytest.raises(InputError, match="at most 50"):
        parse_filter(text)


def test_a_long_chain_of_comparisons_is_not_deep():
    assert parse_filter(" and ".join(["(not a < 1)"] * 500))(ROW)
