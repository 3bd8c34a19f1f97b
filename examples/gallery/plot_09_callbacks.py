"""
Stopping early, with a callback
===============================

A callback is called with every step and may end the search by returning ``True``. What is
returned then is the best point so far, computed once more, and the status says who stopped it.
Three reasons to want that: a loss that is good enough, a clock, and curiosity.
"""

# %%
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from hoag import LogisticRegressionCV
from hoag.optimize import Auto, Hoag

X, y = load_digits(n_class=4, return_X_y=True)
X = X[::2] / 16
y = y[::2]
warnings.simplefilter("ignore", ConvergenceWarning)  # we stop early on purpose

# %%
# Curiosity first: a penalty for each pixel, searched by the paper's own algorithm, which takes
# many short steps, so that there is something to watch. The callback writes down the loss and the
# λ of every step.

seen = []


def watch(step):
    seen.append((step.cost.passes, step.evaluation.value, step.lam.copy()))


slow = Hoag(max_iter=40, gain=1e-4)
slow.certificate = "none"  # the error of the last gradient is not asked for
whole = LogisticRegressionCV(penalties="per-feature", search=slow, callback=watch, cv=3)
whole.fit(X, y)
print(whole.result_.status)

# %%
# Now enough is enough: a log loss of 0.1 will do.


def enough(step):
    return step.evaluation.value < 0.1


early = whole.set_params(callback=enough).fit(X, y)
print(early.result_.status)
print(f"stopped after {early.n_iter_} steps at {early.criterion_:.4f}; "
      f"the whole search found {min(loss for _, loss, _ in seen):.4f} in {len(seen)}")  # fmt: skip

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", width_ratios=(3, 2))
left.plot(range(1, len(seen) + 1), [loss for _, loss, _ in seen], "o-", ms=4, color="#0072B2")
left.axvline(early.n_iter_, color="#D55E00", ls="--", label="the callback said stop")
left.set(xlabel="step", ylabel="cross-validated log loss", ylim=(0, None))
left.legend()
image = right.imshow(early.lam_.reshape(8, 8), cmap="viridis")
right.set(xticks=[], yticks=[], title="λ of every pixel")
fig.colorbar(image, ax=right)
plt.show()

# %%
# A clock needs no callback: ``time_budget`` is in seconds, and has room set aside for computing
# the loss of what is returned. With scikit-learn 1.9 its own callbacks work as well
# (``set_callbacks``), and ``verbose=1`` shows a progress bar.

brief = LogisticRegressionCV(penalties="per-feature", search=Auto(time_budget=0.3), cv=3)
brief.fit(X, y)
print(brief.result_.status)
