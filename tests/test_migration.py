"""Code written for scikit-learn, with its import line changed and nothing else.

Each snippet runs twice: as it stands, and with the class of ours in place of scikit-learn's, where
a warning is an error. What it computed is then compared where the two are comparable: values within
a tolerance (ours choose between the values of a grid too, and by a smooth loss), shapes exactly.
"""

from __future__ import annotations

import inspect
import textwrap
import warnings
from dataclasses import dataclass, field
from typing import Any, Self, get_type_hints

import numpy as np
import pytest
import sklearn.kernel_ridge
import sklearn.linear_model
from sklearn.model_selection import GridSearchCV, KFold

import hoag
from hoag.errors import InvalidInputError

IMPORTS = {
    "LogisticRegressionCV": (
        "from sklearn.linear_model import LogisticRegressionCV",
        "from hoag import LogisticRegressionCV",
    ),
    "RidgeCV": ("from sklearn.linear_model import RidgeCV", "from hoag import RidgeCV"),
    "RidgeClassifierCV": (
        "from sklearn.linear_model import RidgeClassifierCV",
        "from hoag import RidgeClassifierCV",
    ),
    "KernelRidge": (
        "from sklearn.kernel_ridge import KernelRidge",
        "from hoag import KernelRidgeCV as KernelRidge",
    ),
}


@dataclass
class Snippet:
    """Code; expressions whose values are close, each with its tolerance; whose shapes are the same;
    and in which ours is no worse.
    """

    of: str
    title: str
    code: str
    close: dict[str, float] = field(default_factory=dict)
    shapes: tuple[str, ...] = ()
    at_least: dict[str, float] = field(default_factory=dict)

    def run(self, ours: bool) -> dict[str, Any]:
        theirs, mine = IMPORTS[self.of]
        code = textwrap.dedent(self.code)
        assert theirs in code
        names: dict[str, Any] = {}
        exec(compile(code.replace(theirs, mine) if ours else code, self.title, "exec"), names)
        return names


SNIPPETS = [
    # LogisticRegressionCV
    Snippet(
        "LogisticRegressionCV",
        "three kinds of iris",
        """
        from sklearn.datasets import load_iris
        from sklearn.linear_model import LogisticRegressionCV

        X, y = load_iris(return_X_y=True)
        clf = LogisticRegressionCV(
            cv=5, random_state=0, use_legacy_attributes=False, l1_ratios=(0,),
            scoring="neg_log_loss",
        ).fit(X, y)
        first = clf.predict(X[:2, :])
        proba = clf.predict_proba(X)
        score = clf.score(X, y)
        """,
        {"first": 0, "proba": 0.1, "score": 0.01, "clf.l1_ratio_": 0},
        ("clf.coef_", "clf.intercept_", "clf.C_", "clf.classes_"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "area under the curve in a pipeline",
        """
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import train_test_split
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X, y = load_breast_cancer(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
        model = make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(
                Cs=10, cv=5, scoring="roc_auc", solver="newton-cholesky", max_iter=1000,
                use_legacy_attributes=False, l1_ratios=(0,), n_jobs=None,
            ),
        )
        auc = model.fit(X_train, y_train).score(X_test, y_test)
        clf = model[-1]
        best = clf.scores_.mean(axis=0).max()
        """,
        {"auc": 0.01, "best": 0.01, "clf.Cs_": 1e-12},
        ("clf.scores_", "clf.coefs_paths_", "clf.n_iter_", "clf.l1_ratios_"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "attributes by class",
        """
        import numpy as np
        from sklearn.datasets import make_classification
        from sklearn.linear_model import LogisticRegressionCV

        X, y = make_classification(200, 8, n_informative=5, flip_y=0.2, random_state=3)
        clf = LogisticRegressionCV(
            Cs=np.logspace(-3, 2, 6), cv=4, scoring="neg_log_loss", use_legacy_attributes=True
        ).fit(X, y)
        curve = clf.scores_[1].mean(axis=0)
        strongest = clf.coefs_paths_[1][:, 0]
        C = clf.C_[0]
        """,
        {"curve": 1e-3, "strongest": 1e-3, "np.log10(C)": 0.8, "list(clf.scores_)": 0},
        ("clf.scores_[1]", "clf.coefs_paths_[1]", "clf.C_", "clf.l1_ratio_", "clf.n_iter_"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "rare positives by liblinear",
        """
        from sklearn.datasets import make_classification
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.metrics import balanced_accuracy_score

        X, y = make_classification(
            300, 10, n_informative=6, weights=[0.85], flip_y=0.1, random_state=1
        )
        clf = LogisticRegressionCV(
            Cs=20, penalty="l2", solver="liblinear", dual=False, intercept_scaling=1,
            class_weight="balanced", scoring="neg_log_loss", tol=1e-4, verbose=0,
        )
        clf.fit(X, y)
        accuracy = balanced_accuracy_score(y, clf.predict(X))
        proba = clf.predict_proba(X)[:, 1]
        """,
        {"accuracy": 0.03, "proba": 0.1},
        ("clf.coef_", "clf.intercept_", "clf.decision_function(X)"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "sparse counts of words",
        """
        import numpy as np
        from scipy import sparse
        from sklearn.linear_model import LogisticRegressionCV

        rng = np.random.RandomState(0)
        X = sparse.csr_matrix(rng.poisson(0.3, size=(200, 60)).astype(float))
        y = np.where(X[:, :10].sum(axis=1).A1 - X[:, 10:20].sum(axis=1).A1 > 0, "pro", "contra")
        clf = LogisticRegressionCV(
            Cs=[0.01, 0.1, 1, 10, 100, 1000], solver="newton-cg", scoring="neg_log_loss", cv=5
        ).fit(X, y)
        labels = clf.predict(X[:5])
        accuracy = (clf.predict(X) == y).mean()
        """,
        {"accuracy": 0.02, "clf.Cs_": 0},
        ("labels", "clf.coef_", "clf.predict_log_proba(X)"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "patients that stay together",
        """
        import numpy as np
        from sklearn.datasets import make_classification
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import GroupKFold

        X, y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=0)
        patients = np.repeat(np.arange(40), 6)
        weight = np.linspace(0.5, 2, 240)
        folds = list(GroupKFold(4).split(X, y, patients))
        clf = LogisticRegressionCV(
            Cs=np.logspace(-3, 3, 25), cv=folds, scoring="neg_log_loss",
            use_legacy_attributes=False, l1_ratios=(0,),
        )
        proba = clf.fit(X, y, sample_weight=weight).predict_proba(X)
        loss = -clf.score(X, y, sample_weight=weight)
        """,
        {"proba": 0.05, "loss": 0.01, "clf.scores_[:, :, 5:]": 1e-3},
        ("clf.scores_", "clf.coefs_paths_"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "wines by name, judged by a scorer",
        """
        from sklearn.datasets import load_wine
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.metrics import balanced_accuracy_score, make_scorer
        from sklearn.model_selection import StratifiedKFold
        from sklearn.preprocessing import StandardScaler

        wine = load_wine()
        X, y = StandardScaler().fit_transform(wine.data), wine.target_names[wine.target]
        clf = LogisticRegressionCV(
            Cs=8, cv=StratifiedKFold(4, shuffle=True, random_state=0), max_iter=500,
            scoring=make_scorer(balanced_accuracy_score),
        ).fit(X, y)
        accuracy = clf.score(X, y)
        z = clf.decision_function(X)
        """,
        {"accuracy": 0.02, "list(clf.classes_)": 0, "clf.predict(X)[::20].tolist()": 0},
        ("z", "clf.coef_", "clf.intercept_"),
    ),
    Snippet(
        "LogisticRegressionCV",
        "inside of another cross-validation",
        """
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.preprocessing import scale

        X, y = load_breast_cancer(return_X_y=True)
        X = scale(X)[::3]
        y = y[::3]
        clf = LogisticRegressionCV(Cs=5, scoring="neg_log_loss", max_iter=300)
        scores = cross_val_score(clf, X, y, cv=3)
        grid = GridSearchCV(clf, {"class_weight": [None, "balanced"]}, cv=3).fit(X, y)
        """,
        {"scores.mean()": 0.05, "grid.best_score_": 0.05},
        ("scores",),
    ),
    Snippet(
        "LogisticRegressionCV",
        "coefficients kept sparse",
        """
        import numpy as np
        from scipy import sparse
        from sklearn.datasets import make_classification
        from sklearn.linear_model import LogisticRegressionCV

        X, y = make_classification(150, 20, random_state=0, flip_y=0.1)
        clf = LogisticRegressionCV(Cs=6, scoring="neg_log_loss").fit(X, y)
        before = clf.predict_proba(X)
        clf.sparsify()
        kept = sparse.issparse(clf.coef_)
        after = clf.predict_proba(sparse.csr_matrix(X))
        moved = np.abs(before - after).max()
        clf.densify()
        """,
        {"kept": 0, "moved": 1e-12, "before": 0.1},
        ("clf.coef_",),
    ),
    Snippet(
        "LogisticRegressionCV",
        "a frame, and alphas in place of Cs",
        """
        import numpy as np
        import pandas as pd
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.preprocessing import StandardScaler

        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        X = StandardScaler().set_output(transform="pandas").fit_transform(X)
        clf = LogisticRegressionCV(alphas=np.logspace(-6, 0, 7), scoring="neg_brier_score")
        clf.fit(X, y)
        coef = pd.Series(clf.coef_[0], index=clf.feature_names_in_)
        inside = clf.alphas_.min() < clf.alpha_ < clf.alphas_.max()
        loss = -clf.score(X, y)
        """,
        {"inside": 0, "coef": 0.5, "loss": 0.01},
        ("clf.alpha_", "clf.alphas_"),
    ),
    # RidgeCV
    Snippet(
        "RidgeCV",
        "diabetes",
        """
        from sklearn.datasets import load_diabetes
        from sklearn.linear_model import RidgeCV

        X, y = load_diabetes(return_X_y=True)
        clf = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
        score = clf.score(X, y)
        pred = clf.predict(X[:10])
        """,
        {"score": 2e-3, "pred": 3.0, "clf.best_score_": 10.0},
        ("clf.coef_", "clf.intercept_", "clf.alpha_", "clf.best_score_"),
    ),
    Snippet(
        "RidgeCV",
        "no parameters at all",
        """
        from sklearn.datasets import load_diabetes
        from sklearn.linear_model import RidgeCV
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import scale

        X, y = load_diabetes(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
        reg = RidgeCV()
        reg.fit(X_train, y_train)
        r2 = reg.score(X_test, y_test)
        """,
        {"r2": 0.02},
        ("reg.coef_", "reg.n_features_in_"),
    ),
    Snippet(
        "RidgeCV",
        "the error of every row left out",
        """
        import numpy as np
        from sklearn.datasets import make_regression
        from sklearn.linear_model import RidgeCV

        X, y = make_regression(80, 30, n_informative=10, noise=30, random_state=0)
        alphas = np.logspace(-2, 3, 40)
        reg = RidgeCV(alphas, store_cv_results=True).fit(X, y)
        curve = reg.cv_results_.mean(axis=0)
        best = alphas[np.argmin(curve)]
        """,
        {"reg.cv_results_": 1e-6, "np.log(reg.alpha_ / best)": 0.3, "reg.best_score_": 1.0},
        ("curve", "reg.alpha_"),
    ),
    Snippet(
        "RidgeCV",
        "an alpha for each target",
        """
        import numpy as np
        from sklearn.linear_model import RidgeCV

        rng = np.random.RandomState(0)
        X = rng.randn(60, 20)
        W = rng.randn(20, 3) * [1.0, 0.3, 0.1]
        Y = X @ W + rng.randn(60, 3)
        reg = RidgeCV(alphas=np.logspace(-3, 3, 200), alpha_per_target=True).fit(X, Y)
        pred = reg.predict(X)
        """,
        {"pred": 0.02, "np.log(reg.alpha_)": 0.1, "reg.best_score_": 0.01},
        ("reg.coef_", "reg.intercept_", "reg.alpha_"),
    ),
    Snippet(
        "RidgeCV",
        "mean absolute error over folds",
        """
        import numpy as np
        from sklearn.datasets import load_diabetes
        from sklearn.linear_model import RidgeCV
        from sklearn.model_selection import KFold
        from sklearn.preprocessing import scale

        X, y = load_diabetes(return_X_y=True)
        X = scale(X)
        reg = RidgeCV(
            alphas=np.logspace(-1, 3, 30), scoring="neg_mean_absolute_error",
            cv=KFold(5, shuffle=True, random_state=0),
        ).fit(X, y)
        plain = RidgeCV(np.logspace(-1, 3, 30), cv=5).fit(X, y)
        """,
        {"reg.best_score_": 0.3, "plain.best_score_": 0.005, "plain.predict(X)": 5.0},
        ("reg.coef_", "reg.alpha_"),
    ),
    Snippet(
        "RidgeCV",
        "through the origin, by singular values",
        """
        import numpy as np
        from sklearn.linear_model import RidgeCV

        rng = np.random.RandomState(1)
        X = rng.randn(50, 5)
        y = X @ [1.0, 2.0, 0.0, -1.0, 0.5] + 0.5 * rng.randn(50)
        reg = RidgeCV(np.logspace(-2, 2, 400), fit_intercept=False, gcv_mode="svd").fit(X, y)
        """,
        {"reg.coef_": 0.01, "reg.intercept_": 0, "np.log(reg.alpha_)": 0.4},
        ("reg.intercept_", "reg.best_score_"),
    ),
    Snippet(
        "RidgeCV",
        "sparse rows",
        """
        import numpy as np
        from scipy import sparse
        from sklearn.linear_model import RidgeCV

        rng = np.random.RandomState(2)
        X = sparse.random(120, 40, density=0.2, random_state=2, format="csc")
        y = X @ rng.randn(40) + 0.3 * rng.randn(120) + 5
        reg = RidgeCV(alphas=np.logspace(-2, 2, 100)).fit(X, y)
        pred = reg.predict(X)
        """,
        {"pred": 0.02, "reg.intercept_": 0.02},
        ("pred", "reg.coef_"),
    ),
    Snippet(
        "RidgeCV",
        "the logarithm of a target",
        """
        import numpy as np
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.linear_model import RidgeCV
        from sklearn.metrics import median_absolute_error

        rng = np.random.RandomState(0)
        X = rng.randn(150, 12)
        y = np.expm1(6 + 0.3 * X @ rng.rand(12) + rng.rand(150))
        model = TransformedTargetRegressor(
            regressor=RidgeCV(alphas=np.logspace(-1, 6, 30)), func=np.log1p,
            inverse_func=np.expm1,
        ).fit(X, y)
        error = median_absolute_error(y, model.predict(X))
        """,
        {"error": 2.0},
        ("model.regressor_.coef_",),
    ),
    Snippet(
        "RidgeCV",
        "splines of a frame's columns",
        """
        import numpy as np
        import pandas as pd
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, SplineTransformer

        rng = np.random.RandomState(0)
        days = rng.choice(["mo", "su"], 200)
        frame = pd.DataFrame({"hour": rng.uniform(0, 24, 200), "day": days})
        y = np.sin(frame.hour / 4) + (frame.day == "su") + 0.2 * rng.randn(200)
        model = make_pipeline(
            make_column_transformer(
                (SplineTransformer(6), ["hour"]), (OneHotEncoder(), ["day"])
            ),
            RidgeCV(alphas=np.logspace(-4, 3, 50)),
        ).fit(frame, y)
        pred = model.predict(frame)
        """,
        {"pred": 0.02},
        ("model[-1].coef_",),
    ),
    Snippet(
        "RidgeCV",
        "the last of a stack, and an ensemble's alphas",
        """
        import numpy as np
        from sklearn.datasets import make_friedman1
        from sklearn.ensemble import StackingRegressor
        from sklearn.linear_model import RidgeCV
        from sklearn.model_selection import cross_validate
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.tree import DecisionTreeRegressor

        X, y = make_friedman1(120, noise=0.5, random_state=0)
        stack = StackingRegressor(
            [("tree", DecisionTreeRegressor(max_depth=4, random_state=0)),
             ("near", KNeighborsRegressor())],
            final_estimator=RidgeCV(alphas=np.logspace(-3, 4, 20)), cv=3,
        ).fit(X, y)
        pred = stack.predict(X)
        runs = cross_validate(RidgeCV(np.logspace(-3, 3, 20)), X, y, return_estimator=True)
        alphas = np.array([each.alpha_ for each in runs["estimator"]])
        """,
        {"pred": 0.3, "runs['test_score']": 0.01},
        ("alphas",),
    ),
    # RidgeClassifierCV
    Snippet(
        "RidgeClassifierCV",
        "breast cancer",
        """
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import RidgeClassifierCV

        X, y = load_breast_cancer(return_X_y=True)
        clf = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
        score = clf.score(X, y)
        """,
        {"score": 0.01, "clf.best_score_": 0.01, "clf.decision_function(X)": 0.3},
        ("clf.coef_", "clf.intercept_", "clf.alpha_", "clf.best_score_", "clf.classes_"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "many features of time series",
        """
        import numpy as np
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        rng = np.random.RandomState(0)
        Z = rng.randn(60, 8)
        X = np.maximum(Z @ rng.randn(8, 300), 0)
        y = (Z[:, 0] + rng.randn(60) > 0).astype(int)
        clf = make_pipeline(
            StandardScaler(with_mean=False), RidgeClassifierCV(alphas=np.logspace(-3, 5, 40))
        )
        clf.fit(X, y)
        z = clf.decision_function(X)
        """,
        {"z": 0.1, "clf.score(X, y)": 0.05},
        ("z", "clf[-1].coef_"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "three kinds of iris",
        """
        import numpy as np
        from sklearn.datasets import load_iris
        from sklearn.linear_model import RidgeClassifierCV

        X, y = load_iris(return_X_y=True)
        clf = RidgeClassifierCV(np.logspace(-3, 3, 60)).fit(X, y)
        z = clf.decision_function(X)
        labels = clf.predict(X)
        """,
        {"z": 0.02, "np.log(clf.alpha_)": 0.2, "clf.best_score_": 1e-3},
        ("z", "labels", "clf.coef_", "clf.intercept_"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "several labels a row",
        """
        import numpy as np
        from sklearn.datasets import make_multilabel_classification
        from sklearn.linear_model import RidgeClassifierCV

        X, Y = make_multilabel_classification(150, 12, n_classes=4, random_state=0)
        clf = RidgeClassifierCV(alphas=np.logspace(-1, 4, 60)).fit(X, Y)
        labels = clf.predict(X)
        accuracy = clf.score(X, Y)
        """,
        {"(labels == Y).mean()": 0.01, "accuracy": 0.03, "clf.classes_": 0},
        ("labels", "clf.coef_", "clf.decision_function(X)"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "rare positives",
        """
        import numpy as np
        from sklearn.datasets import make_classification
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.metrics import balanced_accuracy_score

        X, y = make_classification(250, 8, n_informative=5, weights=[0.9], random_state=2)
        clf = RidgeClassifierCV(np.logspace(-2, 3, 80), class_weight="balanced").fit(X, y)
        dear = RidgeClassifierCV(np.logspace(-2, 3, 80), class_weight={0: 1, 1: 5}).fit(X, y)
        accuracy = balanced_accuracy_score(y, clf.predict(X))
        """,
        {"accuracy": 0.02, "clf.coef_": 0.02, "dear.coef_": 0.02, "clf.best_score_": 0.01},
        ("clf.intercept_",),
    ),
    Snippet(
        "RidgeClassifierCV",
        "folds of one's own",
        """
        import numpy as np
        from sklearn.datasets import load_wine
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.model_selection import StratifiedKFold
        from sklearn.preprocessing import scale

        X, y = load_wine(return_X_y=True)
        X = scale(X)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        clf = RidgeClassifierCV(alphas=np.logspace(-2, 4, 30), cv=folds).fit(X, y)
        accuracy = clf.best_score_
        """,
        {"accuracy": 0.02, "clf.score(X, y)": 0.02},
        ("clf.coef_", "clf.alpha_", "clf.best_score_"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "the error of every row left out",
        """
        import numpy as np
        from sklearn.datasets import make_classification
        from sklearn.linear_model import RidgeClassifierCV

        X, y = make_classification(100, 10, n_informative=5, random_state=0)
        alphas = np.logspace(-2, 3, 20)
        clf = RidgeClassifierCV(alphas, store_cv_results=True).fit(X, y)
        curve = clf.cv_results_.mean(axis=(0, 1))
        """,
        {"clf.cv_results_": 1e-8, "np.argmin(curve)": 0, "curve.min() + clf.best_score_": 1e-3},
        ("clf.cv_results_", "clf.coef_"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "letters to two editors",
        """
        import numpy as np
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline

        rng = np.random.RandomState(0)
        garden, engine = "rose soil spade hedge seed".split(), "valve oil gear clutch spark".split()
        common = "the and of to a we with from".split()
        kinds = np.where(rng.rand(80) < 0.5, "garden", "engine")
        letters = [
            " ".join(rng.choice((garden if kind == "garden" else engine) + 2 * common, 12))
            for kind in kinds
        ]
        model = make_pipeline(TfidfVectorizer(), RidgeClassifierCV(np.logspace(-3, 2, 30)))
        model.fit(letters, kinds)
        guess = model.predict(["we oil the gear", "a seed of the rose"]).tolist()
        """,
        {"guess": 0, "model.decision_function(letters)": 0.1},
        ("model[-1].coef_",),
    ),
    Snippet(
        "RidgeClassifierCV",
        "accuracy as the scorer",
        """
        import numpy as np
        from sklearn.datasets import load_iris
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.model_selection import cross_val_score

        iris = load_iris()
        names = iris.target_names[iris.target]
        clf = RidgeClassifierCV(alphas=np.logspace(-3, 3, 20), scoring="accuracy")
        clf.fit(iris.data, names)
        scores = cross_val_score(clf, iris.data, names, cv=3)
        kinds = clf.predict(iris.data[[0, 149]]).tolist()
        """,
        {"clf.best_score_": 0.03, "scores.mean()": 0.05, "kinds": 0},
        ("scores", "clf.coef_"),
    ),
    Snippet(
        "RidgeClassifierCV",
        "calibrated, of a frame",
        """
        import numpy as np
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        scaler = StandardScaler().set_output(transform="pandas")
        model = make_pipeline(scaler, RidgeClassifierCV(alphas=np.logspace(-3, 3, 20)))
        proba = CalibratedClassifierCV(model, cv=3).fit(X, y).predict_proba(X)[:, 1]
        names = model.fit(X, y)[-1].feature_names_in_
        """,
        {"proba": 0.1, "names.tolist()": 0},
        ("proba",),
    ),
    # KernelRidge
    Snippet(
        "KernelRidge",
        "ten rows and alpha",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge

        rng = np.random.RandomState(0)
        X = rng.randn(10, 5)
        y = X[:, 0] + 0.1 * rng.randn(10)
        krr = KernelRidge(alpha=1.0)
        krr.fit(X, y)
        """,
        {"krr.get_params()['alpha']": 0},
        ("krr.dual_coef_", "krr.X_fit_", "krr.predict(X)"),
    ),
    Snippet(
        "KernelRidge",
        "a grid of widths and ridges",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.model_selection import GridSearchCV

        rng = np.random.RandomState(42)
        X = 5 * rng.rand(40, 1)
        y = np.sin(X).ravel() + 0.3 * rng.randn(40)
        search = GridSearchCV(
            KernelRidge(kernel="rbf", gamma=0.1),
            param_grid={"alpha": [1e0, 1e-1, 1e-2], "gamma": np.logspace(-1, 1, 3)}, cv=3,
        ).fit(X, y)
        pred = search.predict(np.linspace(0, 5, 30)[:, None])
        """,
        {"pred": 0.2, "search.best_score_": 0.1},
        ("pred", "search.best_estimator_.dual_coef_"),
    ),
    Snippet(
        "KernelRidge",
        "a width that is known",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge

        rng = np.random.RandomState(0)
        X = np.sort(6 * rng.rand(80, 1), axis=0)
        y = np.sin(X).ravel() + 0.2 * rng.randn(80)
        X_test = np.linspace(0.3, 5.7, 100)[:, None]
        krr = KernelRidge(kernel="rbf", gamma=0.5).fit(X, y)
        r2 = krr.score(X_test, np.sin(X_test).ravel())
        """,
        {"krr.predict(X_test)": 0.3},
        ("krr.dual_coef_", "krr.X_fit_"),
        at_least={"r2": 0.01},
    ),
    Snippet(
        "KernelRidge",
        "everything is known",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge

        rng = np.random.RandomState(0)
        X = rng.randn(70, 3)
        y = np.tanh(X[:, 0]) * X[:, 1] + 0.1 * rng.randn(70)
        y = y - y.mean()
        krr = KernelRidge(0.1, kernel="rbf", gamma=0.2)
        pred = krr.fit(X, y).predict(X)
        """,
        {"pred": 1e-6, "krr.dual_coef_": 1e-6},
        ("pred",),
    ),
    Snippet(
        "KernelRidge",
        "rows that count less",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge

        rng = np.random.RandomState(3)
        X = rng.uniform(-3, 3, size=(60, 1))
        y = X.ravel() ** 2 + 0.3 * rng.randn(60)
        y[::10] += 20
        weight = np.where(np.arange(60) % 10 == 0, 1e-3, 1.0)
        krr = KernelRidge(alpha=0.01, kernel="rbf", gamma=0.3)
        krr.fit(X, y, sample_weight=weight)
        error = np.abs(krr.predict(X) - X.ravel() ** 2).max()
        """,
        {"error": 0.5},
        ("krr.dual_coef_",),
    ),
    Snippet(
        "KernelRidge",
        "behind a scaler",
        """
        import numpy as np
        from sklearn.datasets import load_diabetes
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.model_selection import train_test_split
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X, y = load_diabetes(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=120, random_state=0)
        model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", gamma=0.01))
        r2 = model.fit(X_train, y_train).score(X_test, y_test)
        """,
        {},
        ("model[-1].dual_coef_", "model.predict(X_test)"),
        at_least={"r2": 0.0},
    ),
    Snippet(
        "KernelRidge",
        "scores of folds",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.model_selection import cross_val_score

        rng = np.random.RandomState(5)
        X = rng.uniform(-2, 2, size=(60, 2))
        y = X[:, 0] * X[:, 1] + 0.1 * rng.randn(60)
        scores = cross_val_score(KernelRidge(kernel="rbf", alpha=0.5, gamma=0.5), X, y, cv=4)
        """,
        {"scores": 0.1},
        ("scores",),
    ),
    Snippet(
        "KernelRidge",
        "parameters of other kernels",
        """
        import pickle

        import numpy as np
        from sklearn.base import clone
        from sklearn.kernel_ridge import KernelRidge

        rng = np.random.RandomState(0)
        X = rng.rand(50, 2)
        y = np.cos(6 * X[:, 0]) + 0.1 * rng.randn(50)
        krr = KernelRidge(alpha=0.1, kernel="rbf", gamma=2, degree=3, coef0=1, kernel_params=None)
        krr = clone(krr).set_params(alpha=0.05).fit(X, y)
        again = pickle.loads(pickle.dumps(krr))
        moved = np.abs(again.predict(X) - krr.predict(X)).max()
        """,
        {"moved": 1e-10, "krr.predict(X)": 0.1},
        ("krr.dual_coef_",),
    ),
    Snippet(
        "KernelRidge",
        "sparse rows",
        """
        import numpy as np
        from scipy import sparse
        from sklearn.kernel_ridge import KernelRidge

        X = sparse.random(60, 15, density=0.3, random_state=0, format="csr")
        y = np.sqrt(np.asarray(X.sum(axis=1)).ravel())
        y = y - y.mean()
        krr = KernelRidge(alpha=1e-2, kernel="rbf", gamma=0.2).fit(X, y)
        fitted = krr.score(X, y)
        """,
        {"fitted": 1e-3, "krr.X_fit_.shape": 0},
        ("krr.dual_coef_",),
    ),
    Snippet(
        "KernelRidge",
        "more rows, less error",
        """
        import numpy as np
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.model_selection import learning_curve

        rng = np.random.RandomState(0)
        X = 5 * rng.rand(90, 1)
        y = np.sin(X).ravel() + 0.2 * rng.randn(90)
        sizes, train, test = learning_curve(
            KernelRidge(kernel="rbf", alpha=0.1, gamma=1.0), X, y, train_sizes=[0.3, 1.0], cv=3,
            scoring="neg_mean_squared_error",
        )
        errors = -test.mean(axis=1)
        """,
        {"errors": 0.02, "sizes": 0},
        ("train", "test"),
    ),
]


def ids(snippet):
    return f"{snippet.of}: {snippet.title}"


def test_there_are_ten_of_each():
    counts = {name: sum(each.of == name for each in SNIPPETS) for name in IMPORTS}
    assert set(counts.values()) == {10}


# Three that fit dozens of models and whose estimator and options another one has.
LONG = {
    "inside of another cross-validation",
    "patients that stay together",
    "a grid of widths and ridges",
}


@pytest.mark.parametrize(
    "snippet",
    [
        pytest.param(one, id=ids(one), marks=[pytest.mark.slow] * (one.title in LONG))
        for one in SNIPPETS
    ],
)
def test_a_snippet_runs_with_its_import_line_changed(snippet):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = snippet.run(ours=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what scikit-learn has to say of its own parameters
        try:
            theirs = snippet.run(ours=False)
        except TypeError as error:
            if "unexpected keyword" not in str(error):
                raise
            return  # a parameter that this version does not have, or no longer
    for expression in snippet.shapes:
        mine, its = (np.shape(eval(expression, names)) for names in (ours, theirs))
        assert mine == its, expression
    for expression, tolerance in snippet.close.items():
        mine, its = (eval(expression, names) for names in (ours, theirs))
        if tolerance == 0:
            np.testing.assert_array_equal(mine, its, err_msg=expression)
        else:
            np.testing.assert_allclose(mine, its, rtol=0, atol=tolerance, err_msg=expression)
    for expression, slack in snippet.at_least.items():
        mine, its = (eval(expression, names) for names in (ours, theirs))
        assert mine >= its - slack, expression


PAIRS = [
    (sklearn.linear_model.LogisticRegressionCV, hoag.LogisticRegressionCV),
    (sklearn.linear_model.RidgeCV, hoag.RidgeCV),
    (sklearn.linear_model.RidgeClassifierCV, hoag.RidgeClassifierCV),
    (sklearn.kernel_ridge.KernelRidge, hoag.KernelRidgeCV),
]
# of versions 1.6 to 1.10, beside the one that is installed
OTHER_VERSIONS = {
    hoag.LogisticRegressionCV: {"penalty", "multi_class", "use_legacy_attributes", "alphas", "Cs"},
    hoag.RidgeCV: {"store_cv_values"},
    hoag.RidgeClassifierCV: {"store_cv_values"},
    hoag.KernelRidgeCV: set(),
}


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda kind: kind.__module__)
def test_every_parameter_is_in_the_signature(theirs, ours):
    wanted, there = (dict(inspect.signature(kind).parameters) for kind in (theirs, ours))
    assert set(there) >= set(wanted) | OTHER_VERSIONS[ours]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    in_order = [[p.name for p in each.values() if p.kind == positional] for each in (wanted, there)]
    assert in_order[0] == in_order[1]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS[:3], ids=lambda kind: kind.__module__)
def test_scikit_learns_own_defaults_may_be_given(theirs, ours):
    """Words such as "warn" that its signatures have for a value that was not given."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    given = theirs().get_params() | {"verbose": 0, "tol": 1e-4, "bounds": "auto"}
    for grid in ("alphas", "Cs"):
        given.pop(grid, None)
    model = ours(**given).fit(X + y[:, None], y)
    assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda kind: kind.__module__)
def test_every_fitted_attribute_is_there_or_answered(theirs, ours):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = vars(theirs().fit(X, y))
    model = ours().fit(X, y)
    for name in known:
        if name.endswith("_") and not name.startswith("_") and name not in vars(model):
            with pytest.raises(AttributeError, match=r"give|gives|name is|there is|it is"):
                getattr(model, name)
            assert not hasattr(model, name)


@pytest.mark.parametrize("ours", [pair[1] for pair in PAIRS])
def test_fit_returns_its_own_kind_and_fitted_attributes_have_types(ours):
    assert get_type_hints(ours.fit)["return"] is Self
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 3)) + y[:, None]
    fitted = {name for name in vars(ours(scoring="r2").fit(X, y)) if name.endswith("_")}
    assert fitted <= set(get_type_hints(ours))


def test_which_names_win_when_ours_collide_with_scikit_learns():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + y[:, None]
    ours = hoag.LogisticRegressionCV(scoring=["accuracy", "neg_log_loss"]).fit(X, y)
    assert set(ours.scores_) == {"accuracy", "neg_log_loss"}
    assert isinstance(ours.C_, float)
    assert ours.Cs_.tolist() == [ours.C_]
    assert isinstance(ours.n_iter_, int)
    assert ours.score(X, y) == np.mean(ours.predict(X) == y)
    one = hoag.LogisticRegressionCV(use_legacy_attributes=False, scoring="neg_log_loss").fit(X, y)
    assert one.scores_.shape == (5, 1, 1)
    np.testing.assert_allclose(one.scores_.ravel(), ours.scores_["neg_log_loss"])
    assert one.coefs_paths_.shape == (5, 1, 1, 3, 3)
    old = hoag.LogisticRegressionCV(use_legacy_attributes=True).fit(X, y)
    assert {key: each.shape for key, each in old.scores_.items()} == dict.fromkeys(range(3), (5, 1))
    assert old.C_.shape == (3,)
    np.testing.assert_allclose(old.to_sklearn().C, one.C_, rtol=1e-6)
    # a grid that is solved for is paid for
    few, many = (
        hoag.LogisticRegressionCV(Cs=Cs, use_legacy_attributes=False).fit(X, y).result_
        for Cs in ([1e-4, 1e4], np.logspace(-4, 4, 9))
    )
    assert few.cost.passes + few.cost.grams < many.cost.passes + many.cost.grams
    # what is asked for anew is what is there
    assert not hasattr(old.set_params(use_legacy_attributes=None).fit(X, y), "coefs_paths_")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("legacy", [True, False])
def test_on_a_grid_logistic_regression_is_scikit_learns_to_the_digit(classes, refit, legacy):
    rng = np.random.default_rng(2)
    y = np.arange(120) % classes
    X, weight = rng.normal(size=(120, 4)) + 0.7 * y[:, None], rng.uniform(0.5, 2, size=120)
    given = {"Cs": [0.01, 0.3, 10], "refit": refit, "use_legacy_attributes": legacy, "cv": 4}
    given |= {"scoring": "neg_log_loss"} if refit else {}
    ours = hoag.LogisticRegressionCV(search="grid", **given).fit(X, y, sample_weight=weight)
    kind = sklearn.linear_model.LogisticRegressionCV
    given = {name: value for name, value in given.items() if name in kind().get_params()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what scikit-learn has to say of its own parameters
        its = kind(solver="newton-cg", tol=1e-10, max_iter=1000, **given).fit(
            X, y, sample_weight=weight
        )
    assert "search='grid'" in str(ours.result_.status)
    assert np.all(np.isnan(ours.lam_interval_))
    compared = ["coef_", "intercept_"]
    if legacy or "use_legacy_attributes" in given:  # before 1.8 there is one form of them
        compared += ["C_", "scores_", "coefs_paths_"]
        assert np.shape(ours.n_iter_)[-3:] == np.shape(its.n_iter_)[-3:]
    for name in compared:
        mine, theirs = (getattr(model, name) for model in (ours, its))
        if isinstance(theirs, dict):
            assert list(mine) == list(theirs)
            mine, theirs = (np.array(list(each.values())) for each in (mine, theirs))
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"scoring": "r2"},
        {"alpha_per_target": True},
        {"alpha_per_target": True, "scoring": "neg_mean_absolute_error"},
        {"cv": 4},
        {"cv": 4, "scoring": "neg_mean_absolute_error"},
        {"store_cv_results": True, "fit_intercept": False},
    ],
    ids=str,
)
def test_on_a_grid_ridge_regression_is_scikit_learns_to_the_digit(given):
    rng = np.random.default_rng(3)
    X, weight = rng.normal(size=(60, 8)), rng.uniform(0.5, 2, size=60)
    if "cv" in given and not hasattr(GridSearchCV, "_check_scorers_accept_sample_weight"):
        weight = None  # older versions do not weigh the scores of folds
    Y = X @ (rng.normal(size=(8, 3)) * [0.05, 0.3, 2.0]) + rng.normal(size=(60, 3))
    compared = ["alpha_", "best_score_", "coef_", "intercept_"]
    compared += ["cv_results_"] * ("store_cv_results" in given)
    for y in [Y] if "alpha_per_target" in given else [Y, Y[:, 0]]:
        models = [
            kind(alphas=np.logspace(-2, 3, 6), **more, **given).fit(X, y, sample_weight=weight)
            for kind, more in (
                (hoag.RidgeCV, {"search": "grid"}),
                (sklearn.linear_model.RidgeCV, {}),
            )
        ]
        for name in compared:
            mine, theirs = (getattr(model, name) for model in models)
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)
        np.testing.assert_array_equal(models[0].alpha_, models[1].alpha_)


def test_on_a_grid_the_fit_on_all_rows_is_tight_where_rows_are_many():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40000, 20))
    y = X @ rng.normal(size=20) + 2 * rng.normal(size=40000) > 0
    model = hoag.LogisticRegressionCV(search="grid", Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    plain = sklearn.linear_model.LogisticRegression(C=model.C_, solver="newton-cholesky", tol=1e-10)
    np.testing.assert_allclose(model.coef_, plain.fit(X, y).coef_, rtol=1e-6)


def test_on_a_grid_folds_may_lack_the_classes_that_they_hold_out():
    y = np.repeat(["a", "b", "c"], 5)
    X = np.random.default_rng(4).normal(size=(15, 2)) + np.repeat(np.eye(3), 5, axis=0)[:, :2]
    model = hoag.LogisticRegressionCV(search="grid", Cs=[1e-3, 1.0], cv=KFold(3))
    assert np.all(model.fit(X, y).scores_ == 0)  # the accuracy
    model.set_params(scoring="neg_log_loss").fit(X, y)
    assert np.all(np.isfinite(model.scores_) & (model.scores_ < -10))
    assert np.all(np.isfinite(model.coef_))
    with pytest.raises(InvalidInputError, match=r"No held-out row .* shuffle"):
        hoag.LogisticRegressionCV(cv=KFold(3)).fit(X, y)


def test_alphas_of_logistic_regression_are_those_of_the_mean_loss():
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 3)) + 0.5 * y[:, None]
    weight = rng.uniform(0.5, 3, size=80)
    ours = hoag.LogisticRegressionCV(alphas=[1e-5, 10.0]).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.alpha_ * ours.C_ * weight.sum(), 1.0)
    same = hoag.LogisticRegressionCV(alphas=10).fit(X, y)
    np.testing.assert_allclose(np.sort(1 / (80 * same.alphas_)), np.logspace(-4, 4, 10))
    with pytest.warns(UserWarning, match="alpha = 1e-05, the largest of alphas"):
        hoag.LogisticRegressionCV(alphas=[1e-6, 1e-5]).fit(X, y)
    with pytest.raises(InvalidInputError, match="Both Cs and alphas"):
        hoag.LogisticRegressionCV(alphas=10, Cs=10).fit(X, y)


ANSWERED = [
    (hoag.LogisticRegressionCV, {"penalty": "l1"}, "per-feature"),
    (hoag.LogisticRegressionCV, {"penalty": "elasticnet"}, "scikit-learn's LogisticRegressionCV"),
    (hoag.LogisticRegressionCV, {"penalty": None}, "its LogisticRegression"),
    (hoag.LogisticRegressionCV, {"l1_ratios": (0, 0.5)}, "per-feature"),
    (hoag.LogisticRegressionCV, {"l1_ratios": "all"}, "per-feature"),
    (hoag.LogisticRegressionCV, {"l1_ratios": [None]}, "per-feature"),
    (hoag.LogisticRegressionCV, {"solver": "adam"}, "leave it out"),
    (hoag.LogisticRegressionCV, {"dual": 1}, "True or False"),
    (hoag.LogisticRegressionCV, {"intercept_scaling": -1}, "positive"),
    (hoag.LogisticRegressionCV, {"multi_class": "ovr"}, "OneVsRestClassifier"),
    (hoag.LogisticRegressionCV, {"use_legacy_attributes": "old"}, "None for our own"),
    (
        hoag.LogisticRegressionCV,
        {"use_legacy_attributes": True, "penalties": "per-feature"},
        "several penalties",
    ),
    (
        hoag.LogisticRegressionCV,
        {"use_legacy_attributes": False, "scoring": ["accuracy"]},
        "one scorer",
    ),
    (hoag.RidgeCV, {"gcv_mode": "qr"}, "cv='gcv'"),
    (hoag.RidgeCV, {"store_cv_values": True}, "store_cv_results"),
    (hoag.RidgeCV, {"store_cv_results": True, "cv": 3}, "leave-one-out"),
    (hoag.RidgeCV, {"alpha_per_target": "yes"}, "True or False"),
    (hoag.RidgeCV, {"alpha_per_target": True, "penalties": "per-feature"}, "leave one out"),
    (hoag.RidgeClassifierCV, {"store_cv_results": True, "cv": 3}, "leave-one-out"),
    (hoag.RidgeClassifierCV, {"store_cv_values": True}, "store_cv_results"),
    (hoag.RidgeClassifierCV, {"penalties": "per-label"}, "per-class"),
    (hoag.RidgeClassifierCV, {"class_weight": {0: -1, 1: 1}}, "negative"),
    (hoag.LogisticRegressionCV, {"search": "grid"}, "one grid, Cs or alphas"),
    (hoag.LogisticRegressionCV, {"search": "grid", "Cs": 3, "rule": "1se"}, "has no rule"),
    (hoag.LogisticRegressionCV, {"search": "grid", "Cs": 3, "cv": "alo"}, "cv='alo' has none"),
    (
        hoag.LogisticRegressionCV,
        {"search": "grid", "Cs": 3, "penalties": "per-feature"},
        "search='grid': it is for one penalty",
    ),
    (
        hoag.RidgeCV,
        {"search": "grid", "alphas": [1, 2], "penalties": "per-feature"},
        "for one penalty, and there are 2",
    ),
    (hoag.RidgeCV, {"search": "grid", "alphas": [1, 2], "cv": 3, "alpha_per_target": True}, "!="),
    (hoag.RidgeCV, {"alphas": [1, -2]}, r"alphas\[1\] == -2, must be > 0"),
    (hoag.KernelRidgeCV, {"search": "grid"}, "one grid, Cs or alphas"),
    (hoag.KernelRidgeCV, {"kernel": "linear"}, "RidgeCV"),
    (hoag.KernelRidgeCV, {"kernel": "precomputed"}, "Nystroem"),
    (hoag.KernelRidgeCV, {"kernel": np.dot}, "GridSearchCV"),
    (hoag.KernelRidgeCV, {"alpha": -1.0}, "positive"),
    (hoag.KernelRidgeCV, {"gamma": "scale"}, "positive"),
    (hoag.KernelRidgeCV, {"gamma": 1.0, "bounds": (-1, 1)}, "Both gamma and bounds"),
]


@pytest.mark.parametrize(
    ("kind", "given", "answer"),
    ANSWERED,
    ids=[f"{kind.__name__} {' '.join(given)} {j}" for j, (kind, given, _) in enumerate(ANSWERED)],
)
def test_what_is_not_honoured_is_answered_in_fit(kind, given, answer):
    model = kind(**given)  # as scikit-learn's, which stores and checks nothing here
    assert model.get_params()[next(iter(given))] is next(iter(given.values()))
    with pytest.raises(InvalidInputError, match=answer):
        model.fit(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)


def test_a_kernels_width_or_ridge_that_is_given_is_kept():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, size=(60, 1))
    y = np.sin(X).ravel() + 0.2 * rng.normal(size=60)
    free = hoag.KernelRidgeCV().fit(X, y)
    for name in ("gamma", "alpha"):
        kept = hoag.KernelRidgeCV(**{name: 0.7}).fit(X, y)
        np.testing.assert_allclose(vars(kept)[f"{name}_"], 0.7)
        assert kept.criterion_ >= free.criterion_ * (1 - 1e-3)
        assert "bound" not in str(kept.result_.status)
        other = kept.lam_[1 if name == "gamma" else 0]
        for step in (-0.5, 0.5):
            beside = kept.lam_ + step * (kept.lam_ == other)
            assert kept.criterion_at(beside, X, y) >= kept.criterion_ * (1 - 1e-3)
    with pytest.warns(UserWarning, match="gamma = 50, the smallest of gamma"):
        hoag.KernelRidgeCV(gamma=[50, 100]).fit(X, y)
    with pytest.raises(InvalidInputError, match="MultiOutputRegressor"):
        hoag.KernelRidgeCV().fit(X, np.stack([y, y], axis=1))


# Of scikit-learn's signature alone, or deprecated: they do nothing of their own here.
THEIRS_ALONE = {"penalty", "l1_ratios", "solver", "dual", "intercept_scaling", "multi_class"}
THEIRS_ALONE |= {"use_legacy_attributes", "starts", "time_budget", "certificate"}


def test_there_are_few_parameters():
    ours = set(hoag.LogisticRegressionCV().get_params())
    assert ours > THEIRS_ALONE
    assert len(ours - THEIRS_ALONE) <= 22


@pytest.mark.parametrize("given", [{"starts": 2}, {"time_budget": 60.0}, {"certificate": "none"}])
def test_settings_of_the_search_are_deprecated_on_estimators(given):
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    ((name, value),) = given.items()
    old, new = hoag.RidgeCV(cv=3, **given), hoag.optimize.Auto(**given)
    instead = rf"use search=hoag\.optimize\.Auto\({name}={value!r}"
    with pytest.warns(DeprecationWarning, match=instead):
        old.fit(X, y)
    assert old.lam_ == hoag.RidgeCV(cv=3, search=new).fit(X, y).lam_


def test_parameters_without_effect_say_so_where_one_asks_for_words():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    quiet = hoag.LogisticRegressionCV(solver="saga", cv=2, max_iter=3)
    verbose = hoag.LogisticRegressionCV(solver="saga", cv=2, max_iter=3, verbose=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        quiet.fit(X, y)
    assert not [each for each in told if "without effect" in str(each.message)]
    with pytest.warns(UserWarning, match="solver: accepted for scikit-learn's sake, and without"):
        verbose.fit(X, y)
