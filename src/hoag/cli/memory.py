"""How much memory a file of rows would take, and how much there is."""

from __future__ import annotations

import os
from pathlib import Path

# Tables that would take more than this share of the memory that is free are read in blocks: the
# columns as numbers, what folds make of them and what reads the file take some of it each.
SHARE = 0.25

TEXT = 2.0  # bytes in memory for a byte of text: the cells are short, and a number has eight
PACKED = 8.0  # for a byte of packed text


def needed(path: Path, suffix: str, packed: str) -> float:
    """About how many bytes the table of a file would take, without reading it."""
    size = path.stat().st_size
    if suffix not in (".parquet", ".pq"):
        return (PACKED if packed else TEXT) * size
    try:
        import pyarrow.parquet as parquet

        known = parquet.read_metadata(path)
    except Exception:  # a damaged file is told by whoever reads it
        return float(size)
    groups = (known.row_group(i).total_byte_size for i in range(known.num_row_groups))
    return float(max(sum(groups), 8 * known.num_rows * known.num_columns))


def free() -> float | None:
    """The bytes that a process can still have; None where the system does not tell."""
    limits = [_of_machine(), _of_group()]
    return min((limit for limit in limits if limit is not None), default=None)


def _of_machine() -> float | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None


def _of_group() -> float | None:
    """What a container may have, less what it has."""
    for most, now in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit, used = (Path("/sys/fs/cgroup", name).read_text().strip() for name in (most, now))
        except OSError:
            continue
        return None if limit == "max" else max(float(limit) - float(used), 0.0)
    return None
