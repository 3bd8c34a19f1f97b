"""Pictures of a tuned model, in the manner of scikit-learn's Display objects; needs matplotlib.

What is drawn was measured: places that were solved for, and straight lines between them.

    TuningDisplay            the overview: three of the others in one figure
    CriterionDisplay         f over λ, with its folds, minimum, flat interval and one standard error
    CoefficientPathDisplay   the coefficients over λ, the largest by name
    ContourDisplay           f over two hyperparameters, with the way down
    PenaltiesDisplay         many penalties: sorted by strength, by feature and class, or an image
    StepsDisplay             λ, step by step
    CostDisplay              the loss by what it cost, beside one fit

Each has `from_estimator(estimator, X, y, ax=…)`, which returns it with `figure_` and `ax_`. X and y
are those of `fit`; without them only what the search itself evaluated is there to be drawn.

How good predictions are is drawn for rows that the model was best not fitted to; their X and y are
given to `from_estimator`, or what was said of them to the class itself, and `plot(ax)` draws it:

    DevianceResidualsDisplay  what is left of counts, costs and the like, by the prediction
    TenthsDisplay             the mean that came, by the mean that was predicted, tenth by tenth
    BelowDisplay              the share of rows below a predicted quantile, tenth by tenth
    ConfusionDisplay          true classes against predicted ones
    SurvivalDisplay           how many outlast each time, in three groups by their risk

The terms of an additive model are a picture of their own, `model.plot_terms()`:

    TermsDisplay              a panel for each curve, surface, line and category, with bands

>>> from hoag import RidgeCV, plot
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> model = RidgeCV(cv=5).fit(X, y)
>>> path = model.path(X, y, points=9)  # measured once, for several pictures
>>> criterion = plot.CriterionDisplay.from_estimator(model, path=path)
>>> criterion.figure_.savefig("criterion.svg")  # doctest: +SKIP
>>> plot.CoefficientPathDisplay.from_estimator(model, X, path=path).ax_.get_xlabel()
'penalty α (weak → strong)'
"""

from hoag.plot._below import BelowDisplay
from hoag.plot._coefficients import CoefficientPathDisplay
from hoag.plot._confusion import ConfusionDisplay
from hoag.plot._contour import ContourDisplay
from hoag.plot._cost import CostDisplay
from hoag.plot._criterion import CriterionDisplay
from hoag.plot._deviance import DevianceResidualsDisplay
from hoag.plot._penalties import PenaltiesDisplay
from hoag.plot._steps import StepsDisplay
from hoag.plot._survival import SurvivalDisplay
from hoag.plot._tenths import TenthsDisplay
from hoag.plot._terms import TermsDisplay
from hoag.plot._tuning import TuningDisplay

__all__ = [
    "BelowDisplay",
    "CoefficientPathDisplay",
    "ConfusionDisplay",
    "ContourDisplay",
    "CostDisplay",
    "CriterionDisplay",
    "DevianceResidualsDisplay",
    "PenaltiesDisplay",
    "StepsDisplay",
    "SurvivalDisplay",
    "TenthsDisplay",
    "TermsDisplay",
    "TuningDisplay",
]
