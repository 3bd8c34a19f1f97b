"""How fitted models are scored: as in scikit-learn, on arrays and on Partitions alike."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from hoag.linear_model._out_of_core import with_own_y


class Regressor(RegressorMixin):  # type: ignore[misc]
    """scikit-learn's, whose score needs no y where rows have it with them."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R², the share of the squares about the mean that is explained; at most 1.

        Partitions have y and weights with them: score(source).
        """
        return float(super().score(*with_own_y(X, y, sample_weight)))


class Classifier(ClassifierMixin):  # type: ignore[misc]
    """Likewise."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy. Partitions have y and weights with them: score(source)."""
        return float(super().score(*with_own_y(X, y, sample_weight)))
