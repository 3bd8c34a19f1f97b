"""Two functions in JAX in, a problem out: everything between is derived and compiled.

>>> import jax, jax.numpy as jnp, numpy as np
>>> import hoag.jax
>>> jax.config.update("jax_enable_x64", True)
>>> rng = np.random.default_rng(0)
>>> A, B = rng.normal(size=(60, 5)), rng.normal(size=(40, 5))
>>> truth = np.array([2.0, -1.0, 0.0, 0.0, 0.0])
>>> y, z = A @ truth + rng.normal(size=60), B @ truth + rng.normal(size=40)
>>> def h(x, lam):
...     return jnp.sum((A @ x["w"] - y) ** 2) + jnp.sum(lam["penalty"] * x["w"] ** 2)
>>> def g(x, lam):
...     return jnp.mean((B @ x["w"] - z) ** 2)
>>> problem = hoag.jax.problem(
...     h, g, x0={"w": jnp.zeros(5)}, lam0={"penalty": jnp.ones(5)}, scale="log"
... )
>>> result = hoag.minimize(problem)
>>> result.converged, {name: leaf.shape for name, leaf in result.lam.items()}
(True, {'penalty': (5,)})
"""

from __future__ import annotations

from hoag._core.errors import MissingPackageError

try:
    import jax as _jax  # noqa: F401
except ImportError:
    raise MissingPackageError.of("hoag.jax", "JAX", "'hoag[jax]'") from None

from hoag.jax._problem import problem

__all__ = ["problem"]
