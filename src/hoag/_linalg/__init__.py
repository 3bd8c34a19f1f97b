"""The only factorisations of the package, and the operators that are solved with.

operator     symmetric operators that know their diagonal and factor, or say no
cholesky     factors of one positive definite matrix, or of those of all folds
cg           conjugate gradients, for one system or many at once
symmetric    eigenvalues of symmetric matrices, roots and ranges of semidefinite ones
orthogonal   orthonormal bases, norms
"""
