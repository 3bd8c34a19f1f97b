"""When are finer penalties worth it? MNIST, one hold-out against five folds, by penalties.

1000 digits to tune and train on, 5000 that nobody sees. The criterion is what the search saw; the
difference to the loss on unseen rows is how far it overfitted what it was tuned on.

    HOAG_DATA=<folder> python benchmarks/overfitting.py [rows]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import data
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

import hoag

UNSEEN = 5000


def main(rows: int) -> None:
    root = data.folder()
    if root is None:
        raise SystemExit("HOAG_DATA is not set: the folder with MNIST.")
    A, y = data.mnist(root)
    order = np.random.default_rng(0).permutation(len(y))
    seen, unseen = order[:rows], order[rows : rows + UNSEEN]
    print(f"{'penalties':18}{'number':>7}  {'validation':18}{'criterion':>10}{'unseen':>9}"
          f"{'steps':>7}{'seconds':>9}")  # fmt: skip
    for penalties in ("shared", "per-class", "per-feature", "per-coefficient"):
        for name, cv in (
            ("one hold-out, 1/3", StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)),
            ("5 folds", StratifiedKFold(5, shuffle=True, random_state=0)),
        ):
            start = time.perf_counter()
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = hoag.LogisticRegressionCV(penalties=penalties, cv=cv, max_iter=60)
                model.fit(A[seen], y[seen])
            seconds = time.perf_counter() - start
            loss = log_loss(y[unseen], model.predict_proba(A[unseen]))
            print(f"{penalties:18}{model.lam_.size:7}  {name:18}{model.criterion_:10.4f}{loss:9.4f}"
                  f"{model.n_iter_:7}{seconds:9.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
