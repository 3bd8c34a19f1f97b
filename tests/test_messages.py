"""What the library says is seen when it is reviewed, and is in the field's words."""

from __future__ import annotations

import importlib
import inspect
import re

import messages
import pytest

import hoag

# The right-hand columns of the list of words, in the sense in which they were this library's own;
# what to say instead.
FORBIDDEN = {
    r"look(s|ed|ing)? over|free looks?": "scan",
    r"\b(f|rows|loss|losses) bends?\b|\bbent\b|\bjerk\b": "Hessian, curvature",
    r"\bpulls?\b": "penalty matrix",
    r"\bstand-ins?\b": "preconditioner",
    r"\b(un)?settled?\b|\baudit": "verify, converged",
    r"\bdear\b": "expensive",
    r"\b(rows|data|they) are elsewhere|\bfar rows|\breads? of all rows": "out of core",
    r"\bpieces? of (the )?(rows|data|files?)\b": "partition",
    r"\bderived problem|\bown function": "user problem",
    r"\bat hand\b": "in memory, known",
    r"\b(targets|target is) apart\b": "separable",
    r"\bbands\b(?! and|,)": "banded ridge",
    r"\blens\b": "standardiser",
    r"\bspan of the rows": "row space",
    r"\bleft_out_bends\b": "leave-one-out Hessian",
    r"criterion by a word|scored by a word": "analytic criterion",
    r"\bis told\b|\btold of\b": "reported",
    r"a fit is worth|is worth \S+ coefficients": "effective degrees of freedom",
    r"no slope at all": "stationary to rounding",
    r"one (penalty )?for all (may|serves|would)\b": "shared penalty",
    r"a penalty a feature": "penalty per feature",
    r"may serve as well": "indistinguishable within one standard error",
}


def offences(text):
    plain = re.sub(r"\{[^{}]*\}", "{}", text)  # what is filled in is code
    return [f"{found[0]!r}: say {say}" for bad, say in FORBIDDEN.items()
            for found in [re.search(bad, plain)] if found]  # fmt: skip


def test_every_message_is_in_the_reviewed_file():
    """`make messages` writes it again: see what has changed before it is committed."""
    assert messages.FILE.read_text(encoding="utf-8").splitlines() == messages.found()


def test_messages_are_found_where_they_are_said():
    found = messages.found()
    assert "_core/domain.py: The bounds must be finite numbers: the domain has to be compact." in (
        found
    )
    assert any(line.startswith("optimize/_steps.py: Stopped after max_iter=") for line in found)
    assert any(line.startswith("optimize/_hoag.py: tol={…}: → ") for line in found)


def test_no_message_speaks_a_language_of_its_own():
    wrong = {line: bad for line in messages.found() if (bad := offences(line))}
    assert not wrong


def test_a_word_that_is_not_to_be_said_is_found():
    assert offences("One penalty for all may serve as well.")
    assert not offences("The loss cannot improve by more than 0.01 %.")
    assert not offences("{self.span.bends} is a name.")


PUBLIC = [hoag, *(
    importlib.import_module(f"hoag.{name}")
    for name in ("criteria", "data", "datasets", "domains", "errors", "gam", "glm", "linear_model",
                 "models", "optimize", "penalties", "plot", "solvers", "testing", "track")
)]  # fmt: skip


def documented():
    """Every public object by its name, and the public members of classes."""
    for module in PUBLIC:
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.ismodule(one):
                continue
            yield f"{module.__name__}.{name}", one
            for member, value in vars(one).items() if inspect.isclass(one) else ():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    yield f"{module.__name__}.{name}.{member}", value


def test_no_public_docstring_speaks_a_language_of_its_own():
    wrong = {}
    for name, one in documented():
        if bad := offences(inspect.getdoc(one) or ""):
            wrong[name] = bad
    assert not wrong


def test_every_public_error_is_one_of_ours():
    for name in hoag.errors.__all__:
        error = getattr(hoag.errors, name)
        assert issubclass(error, hoag.HoagError)
        assert name.endswith("Error")
        if name != "HoagError":
            assert any(base.__module__ == "builtins" for base in error.__mro__[1:-2]), name


@pytest.mark.parametrize("name", hoag.errors.__all__)
def test_errors_keep_their_fields_on_the_way(name):
    """First line and second are what is wrong and what to do; errors come from other processes."""
    import pickle

    kind = getattr(hoag.errors, name)
    error = kind("The rows are wrong.\nGive others.", where="row 3", parameter="X", value=7)
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        assert str(one) == "The rows are wrong. Give others."
        assert (one.message, one.hint) == ("The rows are wrong.", "Give others.")
        assert (one.where, one.parameter, one.value) == ("row 3", "X", 7)
