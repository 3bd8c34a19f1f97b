"""
Text: tuned in fewer passes than one fit takes
==============================================

Rows of text are long, sparse and many, and a single fit reads them dozens of times. To tune a
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
on_split = hoag.LogisticRegressionCV(cv=split, refit=False).fit(X, y)
passes = on_split.result_.trace[-1].cost.passes
train, _ = next(split.split(X))
fit = LogisticRegression(C=on_split.C_, tol=1e-4, max_iter=1000).fit(X[train], y[train])
print(f"C = {on_split.C_:.3g} after {passes:.0f} passes over the rows")
print(f"one fit with that C: {fit.n_iter_[0]} iterations, each a pass or more")
print(on_split.result_.status)

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
# The loss over λ on the one split, at the ten values of the grid and where the search ended.
# Each point of the curve costs a fit.

values = np.unique(np.append(np.logspace(-1.5, 2.5, 13), np.logspace(-4, 4, 10)[3:8]))
judge = hoag.LogisticRegressionCV(cv=split)
curve = np.array([judge.criterion_at(-np.log(value), X, y) for value in values])
tried = np.isin(values, np.logspace(-4, 4, 10))

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.semilogx(values, curve, color="0.6")
ax.plot(values[tried], curve[tried], "s", color="#D55E00", label="values of the grid: a fit each")
told = f"hoag, {passes:.0f} passes"
ax.plot(on_split.C_, on_split.criterion_, "*", ms=16, color="#0072B2", label=told)
ax.set(xlabel="C", ylabel="validation log loss, one split")
ax.legend()
plt.show()

# %%
# On real text the same happens: :doc:`/benchmarks` has 20news and IMDB.
