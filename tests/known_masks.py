"""Masks that people use, drawn by hand as trapezoids: independent of the language."""

from __future__ import annotations

from math import isqrt

import numpy as np

from compilemask.geometry import Trapezoids


def causal(n: int) -> Trapezoids:
    return Trapezoids.of(0, n, 0, 0, 1, 1)


def sliding_window(n: int, width: int) -> Trapezoids:
    return Trapezoids.of([0, width - 1], [width - 1, n], [0, 1], [0, 1 - width], 1, 1)


def hstu(history: int, targets: int) -> Trapezoids:
    """History is causal; a target sees the history and itself."""
    n = history + targets
    return Trapezoids.of([0, history, history], [history, n, n], [0, 0, 1], 0, [1, 0, 1], [1, history, 1])


def shared_prompt(prompt: int, responses: int, each: int) -> Trapezoids:
    starts = prompt + each * np.arange(responses)
    n = prompt + each * responses
    return Trapezoids.concat(
        [
            causal(prompt),
            Trapezoids.rectangle(prompt, n, 0, prompt),
            Trapezoids.of(starts, starts + each, 0, starts, 1, 1),
        ]
    )


def documents(n: int, count: int, seed: int = 0) -> Trapezoids:
    """Causal documents of random lengths, packed."""
    cuts = np.random.default_rng(seed).choice(np.arange(1, n), count - 1, replace=False)
    starts = np.sort(np.append(cuts, 0))
    return Trapezoids.of(starts, np.append(starts[1:], n), 0, starts, 1, 1)


def clear(text: int, height: int, width: int, radius: int) -> Trapezoids:
    """Text sees everything; an image token sees the text and the image tokens within a disc (radius < width / 2)."""
    n = text + height * width
    parts = [Trapezoids.rectangle(0, text, 0, n), Trapezoids.rectangle(text, n, 0, text)]
    for dy in range(-radius, radius + 1):
        reach = isqrt(radius * radius - dy * dy)
        y = np.arange(max(0, -dy), min(height, height - dy))
        q, k = text + y * width, text + (y + dy) * width  # first token of the line of the query, of the key
        parts += [
            Trapezoids.of(q, q + reach + 1, 0, k, 1, k - q + reach + 1),
            Trapezoids.of(q + reach + 1, q + width - reach, 1, k - q - reach, 1, k - q + reach + 1),
            Trapezoids.of(q + width - reach, q + width, 1, k - q - reach, 0, k + width),
        ]
    return Trapezoids.concat(parts)
