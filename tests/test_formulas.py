"""Formulas in the manner of mgcv: what they mean, and what is said of those that mean nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoag import GAMRegressorCV
from hoag.errors import InvalidInputError
from hoag.gam import category, from_formula, linear, smooth, tensor

pd = pytest.importorskip("pandas")


def test_formulas_of_mgcv():
    left, terms = from_formula('y ~ 1 + s(x, k=12, bs="cc") + te(u, v, k=c(5, 6)) + s(a, by=b) + w')
    assert left == "y"
    assert terms == [
        smooth("x", knots=13, cyclic=True),
        tensor("u", "v", knots=(3, 4)),
        smooth("a", by="b"),
        linear("w"),
    ]
    (curve,) = from_formula("s(x, k=12)")[1]
    assert curve.basis("s(x)", [np.linspace(0, 1, 50)]).size == 12
    assert from_formula("w", lambda name: False)[1] == [category("w")]
    more = from_formula('s(u, v, k=30) + factor(g) + s(h, bs="re") + s(x, k=-1)')[1]
    assert more == [tensor("u", "v", knots=3), category("g"), category("h"), smooth("x")]
    for wrong in (
        "y ~ s(x) - 1",
        "y ~ s(x) * z",
        "y ~ ",
        "y ~ s(x, fx=True)",
        "y ~ log(x)",
        "y ~ s(x + 1)",
        "~ 0",
    ):
        with pytest.raises(InvalidInputError):
            from_formula(wrong)


def test_names_in_quotes_are_names_whatever_they_hold():
    for text in ('y ~ s("a:b", by=`c+d`)', "y ~ s(`a:b`, by='c+d')", "`y`~((s('a:b',by=\"c+d\")))"):
        assert from_formula(text) == ("y", [smooth("a:b", by="c+d")])
    assert from_formula("`y ~ z` ~ x.y\n + `s(u)`") == ("y ~ z", [linear("x.y"), linear("s(u)")])
    frame = pd.DataFrame({"a:b": np.linspace(0, 1, 30), "a*b": 1.0})
    noise = 0.3 * np.random.default_rng(0).normal(size=30)
    model = GAMRegressorCV('s("a:b")').fit(frame, np.sin(6 * frame["a:b"]) + noise)
    assert model.labels_ == ["s(a:b)"]


def test_no_formula_is_too_long():
    names = [f"x{j}" for j in range(3000)]
    assert [term.columns[0] for term in from_formula(" + ".join(names))[1]] == names
    assert from_formula("(" * 5000 + "x" + ")" * 5000)[1] == [linear("x")]
    for wrong in ("(" * 5000, "-" * 5000 + "x", "s(x, k=" + "c(" * 5000, "9" * 5000):
        with pytest.raises(InvalidInputError) as told:
            from_formula(wrong)
        assert len(str(told.value)) < 500


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("s(x, k='a')", "k='a' cannot be: give a whole number"),
        ("s(x, k=2.5)", "k=2.5 cannot be: give a whole number"),
        ("s(x, k=None)", "k='None' cannot be"),
        ("s(x, k=2)", "k=2 cannot be: give a whole number, 3 or more"),
        ("s(x, k=c(5, 6))", "2 entries for 1 column"),
        ("te(u, v, k=c(5, 6, 7))", "3 entries for 2 columns"),
        ("te(u, v, bs=c(cc, ps, ps))", "3 entries for 2 columns"),
        ("s(x, m=c(2, 1))", r"m=c\(2, 1\) cannot be"),
        ("s(x, m=5)", "m=5 cannot be: give a whole number, 1, 2 or 3"),
        ("s(x, bs=1)", "bs=1 is unknown"),
        ("s(x, by=1.5)", "by=1.5 is no column"),
        ("s(x, by=c(a, b))", "is no column"),
        ("s(g, bs='re', by=x)", "has no 'by' here"),
        ("s(x, k=5, k=6)", "given twice"),
        ("s(x, x)", "a column twice"),
        ("s(x, fx=TRUE)", "has no 'fx' here"),
        ("s(x", "ends too early"),
        ("y ~ s(x) ~ z", "cannot be read, at '~ z'"),
    ],
)
def test_what_is_wrong_in_a_formula_is_named(formula, said):
    with pytest.raises(InvalidInputError, match=said) as told:
        from_formula(formula)
    assert "x" in str(told.value) or "te(u, v" in str(told.value)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                [
                    *"+-*/~:,=().`'\"1cxyz \n\x00\ud800é0",
                    *("s(", "te(", "c(", "k=", "bs=", "by=", "m=", "cc", "'re'", "factor("),
                    *("2.5", "1e400", "-1", "None", "99999999999999999"),
                ]
            ),
            max_size=14,
        ).map("".join),
    )
)
def test_any_text_is_a_formula_or_refused_in_a_sentence(text):
    try:
        _, terms = from_formula(text)
    except InvalidInputError:
        return
    assert terms
    assert all(isinstance(name, (str, int)) for term in terms for name in term.needs)
