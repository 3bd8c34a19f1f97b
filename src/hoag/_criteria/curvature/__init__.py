"""What stands for the inverse Hessian of a fit."""
