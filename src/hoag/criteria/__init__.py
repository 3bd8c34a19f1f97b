"""Ways to compute f(λ) and its gradient, and the plan that chooses among them.

>>> import hoag
>>> issubclass(hoag.Implicit, hoag.criteria.base.Criterion)
True
"""
