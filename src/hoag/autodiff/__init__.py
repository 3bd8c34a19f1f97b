"""People's own functions as problems: `hoag.problem`, and what `hoag.jax` and `hoag.torch` share.

trees      vectors as the user's own dicts, tuples and modules, and back; names for every number
scales     what a search moves in place of λ: its logarithm, say
functions  what h and g come to, on flat arrays: autodiff, or differences
samples    functions that are sums over rows, on some of them
derived    a problem whose derivatives come from somewhere else: autodiff, or differences
plain      plain callables on flat arrays
implicit   X(λ) as a differentiable function, for people who keep their own outer loop
"""
