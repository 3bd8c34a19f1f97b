"""What hoag.datasets had for the paper's experiments; it goes in version 0.4."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def thirds(X: Any, y: Any, seed: int) -> tuple[Any, ...]:
    """Train, test and validation rows, a third each, as (X, y, X′, y′, X″, y″)."""
    n = len(y) // 3
    order = np.random.default_rng(seed).permutation(len(y))
    train, test, validation = (order[k * n : (k + 1) * n] for k in range(3))
    return X[train], y[train], X[test], y[test], X[validation], y[validation]


def standardised_by(X_train: npt.ArrayLike, *others: npt.ArrayLike) -> tuple[Any, ...]:
    """X_train with columns of mean 0 and variance 1, and the others shifted and scaled alike.

    A constant column becomes zeros. For dense rows.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X_train)
    return tuple(scaler.transform(X) for X in (X_train, *others))


def centred_by(y_train: npt.ArrayLike, *others: npt.ArrayLike) -> tuple[Any, ...]:
    """y_train less its mean, and the others less the same."""
    mean = np.asarray(y_train, dtype=float).mean(axis=0)
    return tuple(np.asarray(y, dtype=float) - mean for y in (y_train, *others))
