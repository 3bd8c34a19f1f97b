"""A module of the user's in place of a structure of tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.words import one_line
from hoag.torch._pytree import TorchTree


class ModuleTree(TorchTree):
    """A copy of a module, whose parameters are what is fitted or tuned.

    The user's functions get the copy, with tensors in the place of its parameters while they run.
    Handed out is what its `load_state_dict` takes; parameters that need no gradient stay fixed.
    """

    def __init__(self, module: nn.Module, what: str, like: torch.Tensor | None = None) -> None:
        _check(module, what)
        try:
            self._module = copy.deepcopy(module)
        except RuntimeError as error:
            raise InvalidParameterError(
                f"{what} cannot be copied: {one_line(error)}", what
            ) from error
        free = {name: p for name, p in self._module.named_parameters() if p.requires_grad}
        if not free:
            raise InvalidParameterError(
                f"{what} is a module without a parameter that needs a gradient.", what
            )
        super().__init__(free, what, like)
        self._parameters = list(free)
        self._buffers = {name: b.clone() for name, b in self._module.named_buffers()}
        known = {id(parameter): k for k, parameter in enumerate(free.values())}
        state = self._module.state_dict(keep_vars=True)
        # Tied parameters have several names, and one place.
        self._places = {name: known[id(p)] for name, p in state.items() if id(p) in known}

    def called(self, fn: Callable[[Any], Any], leaves: Sequence[torch.Tensor]) -> Any:
        named = {f"module.{name}": t for name, t in zip(self._parameters, leaves, strict=True)}
        return functional_call(_Calling(fn, self._module), named, ())

    def check_unchanged(self) -> None:
        for name, now in self._module.named_buffers():
            if not torch.equal(now, self._buffers[name]):
                raise InvalidParameterError(
                    f"{self.what}: the buffer {name} changes when the module is called, so that "
                    "the functions depend on what was called before.\nCall eval() on the module "
                    "first, or take out what changes it.",
                    self.what,
                )

    def rebuild(self, arrays: Sequence[Array]) -> Any:
        """A state_dict: the parameters as given here, the rest as it was."""
        state, fitted = copy.deepcopy(self._module.state_dict()), self.typed(arrays)
        state.update({name: fitted[place] for name, place in self._places.items()})
        return state

    def take(self, tree: Any) -> list[Array]:
        """The parameters of a module like this one, or of its state_dict."""
        named = tree.state_dict() if isinstance(tree, nn.Module) else tree
        missing = [n for n in self._parameters if not isinstance(named, dict) or n not in named]
        if missing:
            raise InvalidParameterError(
                f"What was given has another structure than {self.what}: it must be such a "
                f"module, or a dict like its state_dict(), and has no {missing[0]}.",
                self.what,
            )
        return [self.numbers_of(named[name]) for name in self._parameters]


class _Calling(nn.Module):  # type: ignore[misc]
    """fn(module) as a module itself, so that `functional_call` reaches whatever fn does with it."""

    def __init__(self, fn: Callable[[Any], Any], module: nn.Module) -> None:
        super().__init__()
        self.fn, self.module = fn, module

    def forward(self) -> Any:
        return self.fn(self.module)


def _check(module: nn.Module, what: str) -> None:
    """Refuses what is not the same function at every call, or not a function yet."""
    for name, parameter in module.named_parameters():
        if nn.parameter.is_lazy(parameter):
            raise InvalidParameterError(
                f"{what}: {name} has no shape yet.\nCall the module once on some data first.", what
            )
    for name, part in module.named_modules():
        where = f"{what}: {name or 'the module'}, {type(part).__name__},"
        if part.training and _dropped(part) > 0:
            raise InvalidParameterError(
                f"{where} drops entries at random, so that h is another function at every call.\n"
                "Call eval() on the module first, or set its p to 0.",
                what,
            )
        if part.training and _follows(part):
            raise InvalidParameterError(
                f"{where} changes its running statistics at every call, so that h depends on what "
                "was called before.\nCall eval() on the module first, which keeps them, or use "
                "another normalisation, such as LayerNorm.",
                what,
            )


def _dropped(part: nn.Module) -> float:
    """The share of entries that a module leaves out while it is trained."""
    if isinstance(part, nn.modules.dropout._DropoutNd):
        return float(part.p)
    if isinstance(part, (nn.RNNBase, nn.MultiheadAttention)):
        return float(part.dropout)
    return 0.0


def _follows(part: nn.Module) -> bool:
    """Whether a module keeps statistics of what it has seen while it is trained."""
    return isinstance(part, nn.modules.batchnorm._NormBase) and bool(part.track_running_stats)
