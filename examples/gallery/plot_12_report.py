"""
Reading the report
==================

``hoag tune table.csv --target column --report page.html`` does everything from a table to a saved
model, and writes a page that holds all it shows: tables and pictures in one file, to send to
somebody. Here it is made for a data set that scikit-learn brings along, and shown below as it is.
"""

# %%
# On the command line this is ``hoag tune diabetes --report page.html``. The same from Python:

import html
import tempfile
from contextlib import chdir
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from hoag import RidgeCV
from hoag.cli import main

with chdir(tempfile.mkdtemp()):
    code = main(["tune", "diabetes", "--report", "page.html"])
    page = Path("page.html").read_text(encoding="utf-8")

# %%
# Line by line: how good the model is on rows that it was not fitted to, beside a constant; how far
# its predictions are off, in the units of the target; the penalty, and between which others the
# loss is the same; which model was taken and why. ``--verbose`` prints all numbers.
# Exit code 0 says that all is well, 3 that the search stopped too early.


class Shown:
    """A page inside this one."""

    def _repr_html_(self):
        return f'<iframe class="page" title="The report" srcdoc="{html.escape(page)}"></iframe>'


Shown()

# %%
# How much is that better than nothing? The share of the variance of y that is explained on
# held-out rows, as λ goes from no penalty to far too much:

X, y = load_diabetes(return_X_y=True)
model = RidgeCV(cv=5, standardize=True).fit(X, y)
lams = np.linspace(model.lam_[0] - 6, model.lam_[0] + 12, 37)
explained = [1 - model.criterion_at(lam, X, y) / y.var() for lam in lams]
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(np.exp(lams), explained, color="#0072B2")
ax.plot(model.alpha_, 1 - model.criterion_ / y.var(), "*", ms=15, color="#D55E00", label="chosen")
ax.axhline(0, color="0.6", ls=":", label="the mean of y, and no model")
ax.set(xlabel="penalty α (weak → strong)", ylabel="variance explained", xscale="log")
ax.legend()
plt.show()
