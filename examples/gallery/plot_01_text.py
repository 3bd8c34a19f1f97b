"""
Text: tuned in fewer passes than one fit takes
==============================================

Rows of text are long, sparse and many, and a single fit reads them forty times or more. To tune a
penalty by trying ten values costs ten fits for each fold. The search here sees the model in a
small space that a few gradients span: in it λ moves for nothing, and each new direction costs one
pass over the rows. So the right penalty is known before one tight fit would have been done.

The documents are made up: 8000 of them, of 20 to 200 words out of 30000, most words leaning a
little to one topic, a fifth of the labels wrong.
"""

# %%
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import LogisticRegressionCV as Grid
from sklearn.model_selection import ShuffleSplit, train_test_split

import hoag

warnings.simplefilter("ignore", FutureWarning)  # scikit-learn's, about its defaults
rng = np.random.default_rng(0)
documents, words = 8000, 30000
common = 1 / np.arange(1, words + 1) ** 0.9  # a few words are most of every text
lean = np.exp(0.25 * rng.normal(size=words))
topics = [both / both.sum() for both in (common * lean, common / lean)]
topic = rng.integers(2, size=documents)
y = np.where(rng.uniform(size=documents) < 0.2, 1 - topic, topic)  # a fifth is mislabelled
rows, columns = [], []
for k in range(documents):
    length = rng.integers(20, 200)
    chosen = rng.choice(words, size=length, p=topics[topic[k]])
    rows.append(np.full(length, k))
    columns.append(chosen)
where = np.concatenate(rows), np.concatenate(columns)
counts = sparse.csr_matrix((np.ones(len(where[0])), where), shape=(documents, words))
X = TfidfTransformer().fit_transform(counts)
X, X_unseen, y, y_unseen = train_test_split(X, y, random_state=0)
print(f"{X.shape[0]} × {X.shape[1]}, {X.nnz / X.shape[0]:.0f} words a row")

# %%
# One split first, two thirds to fit and a third to judge, because its passes are easiest to read.
# For comparison: one single fit of scikit-learn's, at the C that was found, to a tolerance of
# 1e-4.

split = ShuffleSplit(1, test_size=1 / 3, random_state=0)
model = hoag.LogisticRegressionCV(cv=split, refit=False).fit(X, y)
steps = model.result_.trace
train, _ = next(split.split(X))
fit = LogisticRegression(C=model.C_, tol=1e-4, max_iter=1000).fit(X[train], y[train])
print(f"C = {model.C_:.3g} after {steps[-1].cost.passes:.0f} passes over the rows")
print(f"one fit with that C: {fit.n_iter_[0]} iterations, each a pass or more")
print(model.result_.status)

# %%
# Now five folds and a fit on all rows, beside scikit-learn's class of the same name, which tries
# ten values of C. Seconds are those of the machine that built this page.

start = time.perf_counter()
model = hoag.LogisticRegressionCV().fit(X, y)
ours = time.perf_counter() - start

start = time.perf_counter()
grid = Grid(Cs=10, scoring="neg_log_loss", max_iter=1000).fit(X, y)
theirs = time.perf_counter() - start

C = float(np.ravel(grid.C_)[0])
accuracy = np.mean(grid.predict(X_unseen) == y_unseen)
print(f"hoag: C = {model.C_:.3g} in {ours:.2f} s, accuracy {model.score(X_unseen, y_unseen):.3f}")
print(f"grid of ten: C = {C:.3g} in {theirs:.2f} s, accuracy {accuracy:.3f}")

# %%
# What each pass brought: the loss of every step, with what it is estimated to be off.

steps = model.result_.trace
passes = [step.cost.passes for step in steps]
loss = np.array([step.evaluation.value for step in steps])
off = np.nan_to_num([step.evaluation.f_error for step in steps], posinf=0)
at_grid = model.criterion_at(-np.log(C), X, y)

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.errorbar(
    passes, loss, yerr=off, fmt="o-", color="#0072B2", capsize=3, label="hoag, step by step"
)
ax.axhline(at_grid, color="#D55E00", ls="--", label="the best of ten values of C")
ax.set(xlabel="passes over the rows, five folds together", ylabel="mean held-out log loss")
ax.set_xlim(0, None)
ax.ticklabel_format(axis="y", useOffset=False)
ax.legend()
plt.show()

# %%
# On real text the same happens: :doc:`/benchmarks` has 20news and IMDB.
