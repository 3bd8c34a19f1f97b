"""The public names of hoag, read from the package itself, and the reference pages made of them."""

import fnmatch
import inspect
import types
from pathlib import Path

import hoag

# What readers do, and what they do it with: names, or modules of which everything public is meant
# that stands in no other group.
GROUPS = {
    "Estimators": (
        "Models whose penalties are tuned as they are fitted.",
        "hoag.*CV",
    ),
    "Penalties and terms": (
        "What `penalties=` takes, and terms of additive models.",
        "hoag.penalties.* hoag.gam.*",
    ),
    "Criteria and rules": (
        "What is minimised, which of them is chosen for what, and why.",
        "hoag.plan hoag.explain hoag.criteria.Explanation hoag.criteria.without_folds "
        "hoag.criteria.Implicit hoag.criteria.Sum hoag.criteria.Unrolled*",
    ),
    "Own problems": (
        "Two functions, or a class, as a problem; linear models as problems; X(λ) by itself.",
        "hoag.problem hoag.jax.problem hoag.torch.problem hoag.implicit hoag.problems.* "
        "hoag.testing.check_problem hoag.models.*",
    ),
    "Searches": (
        "Where the loss is least: searches, domains, solvers, and what comes out.",
        "hoag.minimize hoag.Result hoag.Status hoag.optimize.Auto hoag.optimize.Hoag "
        "hoag.optimize.Adaptive hoag.optimize.Constant hoag.optimize.Growing hoag.optimize.Grid "
        "hoag.optimize.Random hoag.optimize.Bayes hoag.optimize.TPE hoag.optimize.Reason "
        "hoag.optimize.Step hoag.track.* hoag.Box hoag.domains.* hoag.solvers.*",
    ),
    "Pictures": ("Of a search, and of what it found.", "hoag.plot.*"),
    "Data": (
        "Rows out of core, rows on a cluster, and data sets to try things on.",
        "hoag.partitions hoag.data.* hoag.dask.* hoag.datasets.*",
    ),
    "Extending": (
        "Families, losses, penalties, rows, curvatures, risks, criteria and searches of one's own.",
        "hoag.linear_model.* hoag.glm.* hoag.criteria.* hoag.optimize.* hoag.testing.*",
    ),
    "Errors": ("What is raised.", "hoag.HoagError hoag.errors.*"),
}


def named():
    """{dotted name: object} for everything public, each under the shortest of its names."""
    found, shortest = {}, {}
    for name in dir(hoag):
        try:
            thing = getattr(hoag, name)
        except ImportError:  # hoag.dask, hoag.jax or hoag.torch, without what it needs
            continue
        inside = {f"hoag.{name}.{n}": getattr(thing, n) for n in getattr(thing, "__all__", ())}
        found |= inside if isinstance(thing, types.ModuleType) else {f"hoag.{name}": thing}
    for name in sorted(found, key=lambda name: (-name.count("."), name)):
        if inspect.isclass(found[name]) or inspect.isfunction(found[name]):
            shortest[id(found[name])] = name
    return {name: found[name] for name in sorted(shortest.values())}


def public():
    """Groups of the reference: {title: (a sentence, {dotted name: object})}."""
    things = named()
    exact = {name for _, entries in GROUPS.values() for name in entries.split() if "*" not in name}
    groups = {}
    for title, (sentence, entries) in GROUPS.items():
        own = {}
        for entry in entries.split():
            some = [n for n in fnmatch.filter(things, entry) if n.count(".") == entry.count(".")]
            own |= {name: things.pop(name) for name in some if name not in exact - {entry}}
        groups[title] = (sentence, own)
    return groups


def write(folder: Path):
    """One page that lists everything; autosummary makes one for each object."""
    lines = ["Reference", "=========", ""]
    lines += ["Every example below is run when the library is tested.", ""]
    for title, (sentence, things) in public().items():
        lines += [title, "-" * len(title), "", sentence.replace("`", "``"), ""]
        lines += [".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in things] + [""]
    folder.mkdir(exist_ok=True)
    listed = {name for _, things in public().values() for name in things}
    for page in folder.glob("hoag.*.rst"):  # of an earlier build
        if page.stem not in listed:
            page.unlink()
    page, text = folder / "index.rst", "\n".join(lines)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def skip(app, what, name, thing, skipping, options):
    """What comes from scikit-learn or Python itself is documented there."""
    home = thing.__module__ if inspect.isfunction(thing) else None
    if inspect.isroutine(thing) and not (home or "").startswith("hoag"):
        return True
    return skipping
