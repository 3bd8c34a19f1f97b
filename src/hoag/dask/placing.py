"""Which worker holds which partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def placed(
    partitions: Sequence[int],
    sizes: Sequence[float],
    homes: Mapping[int, Collection[str]],
    held: Mapping[str, float],
) -> dict[str, list[int]]:
    """Partitions to workers: to the one that has the data, else in runs that follow each other.

    Neighbours on one worker are added there, and one vector travels for all of them. `held` is
    what each worker has so far; runs fill the workers up to the same level.

    >>> from hoag.dask.placing import placed
    >>> placed([0, 1, 2, 3], [1.0] * 4, {}, {"a": 0.0, "b": 0.0})
    {'a': [0, 1], 'b': [2, 3]}
    >>> placed([0, 1, 2], [1.0] * 3, {2: ["a"]}, {"a": 0.0, "b": 0.0})
    {'a': [0, 2], 'b': [1]}
    """
    found: dict[str, list[int]] = {worker: [] for worker in held}
    level = dict(held)
    rest = []
    for i in partitions:
        near = [worker for worker in homes.get(i, ()) if worker in level]
        if near:
            best = min(near, key=lambda worker: level[worker])
            found[best].append(i)
            level[best] += sizes[i]
        else:
            rest.append(i)
    goal = (sum(level.values()) + sum(sizes[i] for i in rest)) / len(level)
    order = list(level)
    at = 0
    for i in rest:
        while at + 1 < len(order) and level[order[at]] + sizes[i] / 2 > goal:
            at += 1
        found[order[at]].append(i)
        level[order[at]] += sizes[i]
    return {worker: sorted(numbers) for worker, numbers in found.items() if numbers}
