"""Ways to compute f(λ) and its gradient, and the plan that chooses among them."""
