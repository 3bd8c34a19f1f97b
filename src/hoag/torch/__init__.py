"""Two functions in PyTorch in, a problem out: everything between is derived.

>>> import torch
>>> import hoag.torch
>>> _ = torch.manual_seed(0)
>>> A, B = torch.randn(60, 5, dtype=torch.float64), torch.randn(40, 5, dtype=torch.float64)
>>> truth = torch.tensor([2.0, -1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
>>> y, z = A @ truth + torch.randn(60), B @ truth + torch.randn(40)
>>> model = torch.nn.Linear(5, 1, dtype=torch.float64)
>>> def h(model, lam):
...     decay = torch.sum(lam["penalty"] * model.weight**2)
...     return torch.sum((model(A)[:, 0] - y) ** 2) + decay
>>> def g(model, lam):
...     return torch.mean((model(B)[:, 0] - z) ** 2)
>>> lam0 = {"penalty": torch.ones(5, dtype=torch.float64)}
>>> result = hoag.minimize(hoag.torch.problem(h, g, model, lam0, scale="log"))
>>> result.converged, {name: tuple(leaf.shape) for name, leaf in result.lam.items()}
(True, {'penalty': (5,)})
>>> model.load_state_dict(result.x)
<All keys matched successfully>
"""

from __future__ import annotations

from hoag._core.errors import MissingPackageError

try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise MissingPackageError.of("hoag.torch", "PyTorch", "'hoag[torch]'") from None

from hoag.torch._problem import problem

__all__ = ["problem"]
