"""benchopt, with a clock that runs until JAX has computed what a solver asked for.

JAX returns before it has computed. The benchmark's solvers call benchopt back at once, which stops
its clock and measures what they found: there the waiting is done, and in the table ten seconds of
work are 0.02 s. Here the result is waited for before the clock is stopped. All solvers are timed
alike, and none of their code is touched.
"""

import jax
from benchopt.callback import _Callback
from benchopt.cli import benchopt

stop_the_clock = _Callback.__call__


def wait_and_stop_the_clock(self: _Callback) -> bool:
    jax.block_until_ready(self.solver.get_result())
    return bool(stop_the_clock(self))


_Callback.__call__ = wait_and_stop_the_clock

if __name__ == "__main__":
    benchopt()
