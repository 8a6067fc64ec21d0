"""A small network trained for real on images of digits, as a schedule deals them to workers.

The images are those that scikit-learn brings. A step averages the gradients of one mini-batch per
worker, which is the gradient of these mini-batches together: synchronous training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from optsched.errors import needs_extra
from optsched.evaluation.runs import UnmeasuredError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CLASSES = 10
MINI_BATCH = 8
"""Images of a worker's mini-batch."""
HIDDEN = 32
"""Neurons of the one hidden layer."""
STEP, MOMENTUM = 0.05, 0.9
"""Step size and momentum of stochastic gradient descent."""
TRAINED_ON = 2 / 3
"""Share of the images; the rest are for testing."""


@dataclass(frozen=True)
class Images:
    """What one job trains on, and what its model is tested on."""

    x: Floats
    """Shape (images, 64), in 0..1."""
    y: Integers
    """Digit of each."""
    test_x: Floats
    test_y: Integers


@cache
def _digits() -> tuple[Floats, Integers]:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise UnmeasuredError(needs_extra("training on digits", "training")) from None
    images, digit = load_digits(return_X_y=True)
    return images / 16.0, digit.astype(np.int64)


def draw_images(rng: np.random.Generator) -> Images:
    """The digits in two parts, in random order.

    Raises:
        UnmeasuredError: there is no scikit-learn.
    """
    x, y = _digits()
    order = rng.permutation(len(y))
    kept, rest = np.split(order, [round(TRAINED_ON * len(order))])
    return Images(x[kept], y[kept], x[rest], y[rest])


class Training:
    """A network with one hidden layer, trained by stochastic gradient descent with momentum."""

    def __init__(self, images: Images, seed: int, hidden: int = HIDDEN) -> None:
        self.images, self.rng = images, np.random.default_rng(seed)
        shapes = [(images.x.shape[1], hidden), (hidden,), (hidden, CLASSES), (CLASSES,)]
        self.layers = [self.rng.normal(0.0, 0.1, shape) for shape in shapes]
        self.speed = [np.zeros_like(layer) for layer in self.layers]

    def train(self, workers: list[Integers], epochs: int, batch: int = MINI_BATCH) -> None:
        """Epochs in which every worker goes through its images in mini-batches, all in step.

        Args:
            workers: images of each worker.
            epochs: passes of each through its images.
            batch: images of a worker's mini-batch.
        """
        for _ in range(epochs):
            orders = [self.rng.permutation(of) for of in workers]
            for first in range(0, max(map(len, orders)), batch):
                self._step(np.concatenate([of[first : first + batch] for of in orders]))

    def _step(self, chosen: Integers) -> None:
        """Down the gradient of the mean cross-entropy of these images."""
        x, wanted = self.images.x[chosen], self.images.y[chosen]
        inner, share = self._forward(x)
        share[np.arange(len(chosen)), wanted] -= 1
        share /= len(chosen)
        back = share @ self.layers[2].T * (inner > 0)
        slopes = x.T @ back, back.sum(axis=0), inner.T @ share, share.sum(axis=0)
        for layer, speed, slope in zip(self.layers, self.speed, slopes, strict=True):
            speed *= MOMENTUM
            speed -= STEP * slope
            layer += speed

    def _forward(self, x: Floats) -> tuple[Floats, Floats]:
        """The hidden layer, and the share given to each class; a row an image."""
        into, shift, out, bias = self.layers
        inner = np.maximum(x @ into + shift, 0.0)
        score = inner @ out + bias
        share = np.exp(score - score.max(axis=1, keepdims=True))
        return inner, share / share.sum(axis=1, keepdims=True)

    def tested(self) -> Floats:
        """Share of the test images that it names rightly, by class, shape (classes,)."""
        of = self.images.test_y
        right = self._forward(self.images.test_x)[1].argmax(axis=1) == of
        count = np.bincount(of, minlength=CLASSES)
        return np.asarray(np.bincount(of, weights=right, minlength=CLASSES) / count)
