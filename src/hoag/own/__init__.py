"""People's own functions.

implicit   X(λ) as a differentiable function, for people who keep their own outer loop
"""
