"""Every model of the library, written once more in PyTorch as somebody would who does not have it.

Each takes (rows, targets, weights) to fit and held out, the group of every coefficient (−1: not
penalised) as an array (features, outputs), and a basis of the intercepts, or None for none.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import cross_entropy, softplus

import hoag.torch


def tensors(data):
    return [torch.tensor(part) for part in data]


def penalty(w, alpha, groups):
    groups = torch.tensor(groups)
    return torch.sum((groups >= 0) * alpha[groups] * w**2) / 2


def start(groups, basis):
    """Slopes and intercepts, and as many penalties as there are groups."""
    x0 = np.zeros(groups.shape), np.zeros(0 if basis is None else basis.shape[1])
    return x0, np.ones(groups.max() + 1)


def logistic(train, test, groups, basis):
    def loss(x, data):
        A, y, s = data
        return torch.sum(s * softplus(-y * (A @ x[0][:, 0] + torch.sum(x[1]))))

    def h(x, alpha, data):
        return loss(x, data) + penalty(x[0], alpha, groups)

    def g(x, alpha, data):
        return loss(x, data)

    at = start(groups, basis)
    return hoag.torch.problem(h, g, *at, train=train, test=test, scale="log")


def multinomial(train, test, groups, basis):
    Q = torch.zeros(groups.shape[1], 0) if basis is None else torch.tensor(basis)

    def loss(x, A, y, s):
        z = A @ x[0] + Q.to(A) @ x[1]
        return torch.sum(s * cross_entropy(z, y, reduction="none"))

    def h(x, alpha):
        return loss(x, *tensors(train)) + penalty(x[0], alpha, groups)

    at = start(groups, basis)
    return hoag.torch.problem(h, lambda x, _: loss(x, *tensors(test)), *at, scale="log")


class Affine(torch.nn.Module):
    """z = A w + b, or without b."""

    def __init__(self, groups, basis):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(groups.shape, dtype=torch.float64))
        b = torch.zeros(groups.shape[1], dtype=torch.float64)
        self.b = torch.nn.Parameter(b, requires_grad=basis is not None)

    def forward(self, A):
        return A @ self.w + self.b


def ridge(train, test, groups, basis):
    def squares(model, A, y, s):
        z = model(A)
        return torch.sum(s[:, None] * (y.reshape(z.shape) - z) ** 2)

    def h(model, lam):
        return squares(model, *tensors(train)) / 2 + penalty(model.w, torch.exp(lam), groups)

    def g(model, lam):
        return squares(model, *tensors(test))

    return hoag.torch.problem(h, g, Affine(groups, basis), np.zeros(groups.max() + 1))


def kernel_ridge(train, test, widths, _):
    (A, y, s), (B, z, t) = tensors(train), tensors(test)

    def kernel(A, B, gamma):
        return torch.exp(-torch.sum(gamma * (A[:, None] - B) ** 2, dim=2))

    def h(x, lam):
        v = torch.sqrt(s) * x
        return (v @ kernel(A, A, lam[0]) @ v + lam[1] * x @ x) / 2 - y @ v

    def g(x, lam):
        return torch.sum(t * (z - kernel(B, A, lam[0]) @ (torch.sqrt(s) * x)) ** 2)

    lam0 = [np.full(widths, 1 / A.shape[1]), 1.0]
    return hoag.torch.problem(h, g, np.zeros(len(y)), lam0, scale="log")


REWRITTEN = {
    "logistic": logistic,
    "multinomial": multinomial,
    "ridge": ridge,
    "ridge-2": ridge,
    "kernel-ridge": kernel_ridge,
    "kernel-widths": kernel_ridge,
}


def groups_of(penalties, d, outputs):
    """The group of every coefficient, as `hoag.models` numbers them."""
    feature, output = np.indices((d, outputs))
    return {
        "shared": np.zeros((d, outputs), dtype=int),
        "per-class": output,
        "per-feature": feature,
        "per-coefficient": np.arange(d * outputs).reshape(d, outputs),
        "groups": feature % 2,
        "partly-free": feature - 1,
    }[penalties]
