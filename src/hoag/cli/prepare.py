"""The transformer that makes numbers of columns, of scikit-learn's own classes, and its names."""

from __future__ import annotations

from typing import Any

from hoag.cli.columns import CATEGORY, FLAG, NUMBER, WORDS


def transformer(pieces: dict[str, str], lacking: set[str], scale: bool, dense: bool) -> Any:
    """Numbers standardised, text as 0 and 1 for each category or as tf-idf; not fitted.

    Each number or flag of `lacking` has a column of 0 and 1 beside it that says where it is
    missing; a category that is missing is one of its own. `fitted` fills the rest.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import MissingIndicator
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def of(kind: str) -> list[str]:
        return [name for name, found in pieces.items() if found == kind]

    scaler = StandardScaler() if scale else "passthrough"
    steps = [
        ("numbers", Pipeline([("scale", scaler), ("fill", "passthrough")]), of(NUMBER)),
        ("flags", Pipeline([("fill", "passthrough")]), of(FLAG)),
        ("missing", MissingIndicator(features="all", sparse=False),
         [name for name in of(NUMBER) + of(FLAG) if name in lacking]),
        ("categories", OneHotEncoder(handle_unknown="ignore"), of(CATEGORY)),
        *((f"words of {name}", TfidfVectorizer(sublinear_tf=True), name) for name in of(WORDS)),
    ]  # fmt: skip
    return ColumnTransformer(
        [step for step in steps if step[2]],
        sparse_threshold=0.0 if dense else 0.3,
        verbose_feature_names_out=False,
    )


def fitted(columns: Any, frame: Any) -> Any:
    """Fit the transformer to a frame; returns what it makes of it.

    Numbers that are missing become the mean, flags the more frequent one, in new rows too where
    none was missing here. The mean of as many neighbours as there are rows is that of all, so a
    KNNImputer that holds the one row of means does it; SimpleImputer keeps a NumPy dtype, which
    skops would not load before somebody trusts it.
    """
    from sklearn.impute import KNNImputer

    columns.fit(frame)
    for label, _, names in columns.transformers_:
        if label in ("numbers", "flags"):
            usual = frame[names].mean().to_frame().T
            usual = usual.round() if label == "flags" else usual
            branch = columns.named_transformers_[label]
            branch.set_params(fill=KNNImputer(n_neighbors=len(frame)).fit(branch.transform(usual)))
    return columns.transform(frame)


def of_encoding(encoding: dict[str, Any], scale: bool) -> Any:
    """The fitted transformer that does what hoag.partitions did to the columns of a table."""
    import numpy as np
    import pandas as pd
    from sklearn.impute import KNNImputer

    numbers, flags, known = encoding["numbers"], encoding["flags"], encoding["categories"]
    own = [*numbers, *flags]
    pieces = {
        **dict.fromkeys(numbers, NUMBER),
        **dict.fromkeys(flags, FLAG),
        **dict.fromkeys(known, CATEGORY),
    }
    lacking = {name for name, count in zip(own, encoding["missing"], strict=True) if count}
    # Rows with all categories, and nothing else that stays.
    levels = {name: [*known[name], *([np.nan] if encoding["lacking"][name] else [])]
              for name in known}  # fmt: skip
    n = max(map(len, levels.values()), default=1)
    frame = pd.DataFrame({name: np.zeros(n) for name in own})
    for name, each in levels.items():
        frame[name] = pd.Series([*each, *[each[0]] * (n - len(each))], dtype=object)
    columns = transformer(pieces, lacking, scale, dense=False).fit(frame)
    columns.sparse_output_ = bool(encoding["sparse"])
    usual = np.array(encoding["means"], dtype=float)
    k = len(numbers)
    for label, means in (("numbers", usual[:k]), ("flags", np.round(usual[k:]))):
        if not means.size:
            continue
        branch = columns.named_transformers_[label]
        if label == "numbers" and scale:
            scaler = branch.named_steps["scale"]
            scaler.mean_, scaler.scale_ = means, np.array(encoding["scales"][:k], dtype=float)
            scaler.var_ = scaler.scale_**2
        row = pd.DataFrame([means], columns=numbers if label == "numbers" else flags)
        branch.set_params(fill=KNNImputer(n_neighbors=1).fit(branch.transform(row)))
    return columns


def features(columns: Any) -> list[tuple[str, str]]:
    """The name of every transformed column, and of what it is made of: its column, or its word.

    Names are made distinct where a category is called like a column.
    """
    made = list[tuple[str, str, str]]()
    for label, step, own in columns.transformers_:
        if label == "categories":
            for column, categories in zip(own, step.categories_, strict=True):
                made += [(label, _category(column, name), column) for name in categories]
        elif label == "missing":
            made += [(label, f"{column} missing", column) for column in own]
        elif isinstance(own, str):
            words = [f"{own}: {word}" for word in step.get_feature_names_out()]
            made += [(label, word, word) for word in words]
        else:
            made += [(label, column, column) for column in own]
    distinct = len({name for _, name, _ in made}) == len(made)
    if not distinct:
        columns.set_params(verbose_feature_names_out=True)
    return [(name if distinct else f"{label}__{name}", source) for label, name, source in made]


def _category(column: str, name: Any) -> str:
    return f"{column}_{name}" if isinstance(name, str) else f"{column} missing"
