"""
A weight decay for each layer
=============================

A small network in PyTorch, and two hundred digits to train it on. Weight decay keeps it from
learning them by heart; how much of it each layer needs is usually not even asked. Here every layer
has its own, and all of them are tuned by the loss on digits that the network was not trained on.
"""

# %%
# h is what PyTorch would minimise anyway: the cross entropy of the training rows, and the squares
# of all weights, each layer's times its own λ. g is the cross entropy of other rows.

import copy

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import Linear, Sequential, Tanh
from torch.nn.functional import cross_entropy

import hoag
import hoag.torch

torch.manual_seed(0)
threads = torch.get_num_threads()
torch.set_num_threads(1)  # layers this small are faster on one

X, y = load_digits(return_X_y=True)
X, y = torch.from_numpy(X / 16), torch.from_numpy(y)
order, rest = train_test_split(np.arange(len(y)), train_size=200, stratify=y, random_state=0)
held_out, unseen = train_test_split(rest, train_size=400, stratify=y[rest], random_state=0)
train, test = (X[order], y[order]), (X[held_out], y[held_out])

net = Sequential(Linear(64, 12), Tanh(), Linear(12, 12), Tanh(), Linear(12, 10)).double()
LAYERS = {"0": "first", "2": "second", "4": "last"}


def loss(model, lam, data):
    rows, digits = data
    return cross_entropy(model(rows), digits, reduction="sum")


def decay(model, lam):
    return sum(
        lam[LAYERS[name.split(".")[0]]] * torch.sum(part**2)
        for name, part in model.named_parameters()
    )


# %%
# A network is not convex, so hoag is told so, and it gets an optimiser of PyTorch's own to train it
# with. What that leaves undone is measured, and counts in the errors of the loss and its gradient.


def solver(lam, state):
    model = copy.deepcopy(net)
    model.load_state_dict(state)
    optimiser = torch.optim.LBFGS(
        model.parameters(),
        max_iter=400,
        history_size=20,
        tolerance_grad=1e-5,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimiser.zero_grad()
        value = loss(model, lam, train) + decay(model, lam)
        value.backward()
        return value

    optimiser.step(closure)
    return model.state_dict()


def tuned(penalty, lam0):
    problem = hoag.torch.problem(
        loss,
        loss,
        net,
        lam0,
        train=train,
        test=test,
        penalty=penalty,
        scale="log",
        convex=False,
        solver=solver if len(lam0) == 3 else lambda lam, state: solver(each(lam), state),
    )
    return hoag.minimize(problem, bounds=(1e-3, 10.0), search=hoag.optimize.Auto(tol=3e-3))


def each(lam):
    """One weight decay for all layers."""
    return dict.fromkeys(LAYERS.values(), lam["all"])


own = tuned(decay, dict.fromkeys(LAYERS.values(), 0.3))
shared = tuned(lambda model, lam: decay(model, each(lam)), {"all": 0.3})

# %%
# The status says what a number from a network is worth:

print(own.status)
for name, lam in own.lam.items():
    print(f"{name:7} layer: {lam:.3f}")
print(f"one for all:   {shared.lam['all']:.3f}")

# %%
# And what it brings, on digits that nobody has seen: a little, here. The dashed line is the guess
# that both searches started from.


def judged(state):
    model = copy.deepcopy(net)
    model.load_state_dict(state)
    with torch.no_grad():
        scores = model(X[unseen])
        right = torch.mean((scores.argmax(dim=1) == y[unseen]).double())
        return cross_entropy(scores, y[unseen]).item(), right.item()


begun = solver(dict.fromkeys(LAYERS.values(), torch.tensor(0.3)), net.state_dict())
for name, state in {"guessed": begun, "one for all": shared.x, "one a layer": own.x}.items():
    print("{:12} log loss {:.3f}, accuracy {:.3f}".format(name, *judged(state)))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
names = [*own.lam, "one for all"]
values = [float(lam) for lam in (*own.lam.values(), shared.lam["all"])]
left.barh(names[::-1], values[::-1], color=["0.7", *["C0"] * 3])
left.axvline(0.3, color="k", ls="--", lw=1)
left.set(xscale="log", xlabel="weight decay", title="What was found")
for result, label in ((own, "one a layer"), (shared, "one for all")):
    steps = [step for step in result.trace if np.isfinite(step.evaluation.f_error)]
    seconds, values = zip(*[(s.seconds, s.evaluation.value / len(held_out)) for s in steps])
    right.plot(seconds, values, "o-", ms=4, label=label)
right.set(xlabel="seconds", title="Log loss of held-out digits")
right.legend(frameon=False)
torch.set_num_threads(threads)
plt.show()
