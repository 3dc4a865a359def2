"""The confidence-weighted family by its formulas, row by row on dense arrays."""

import math

import numpy as np
from scipy.special import ndtri


def phi_of(confidence):
    return float(ndtri(confidence))


def std_update(m, v, phi):
    """Return the mean update of CW by the standard deviation."""
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    return (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)


def precision_update(a, v, phi):
    """Return the added precision when the mean moves by `a`, by the standard deviation."""
    return a * phi / ((-a * v * phi + math.sqrt(a**2 * v**2 * phi**2 + 4 * v)) / 2)


def pa(m, v, w, C=1.0, variant="PA-I"):
    if m >= 1:
        return 0.0, 0.0
    return {
        "PA": (1 - m) / v,
        "PA-I": min(C * w, (1 - m) / v),
        "PA-II": (1 - m) / (v + 1 / (2 * C * w)),
    }[variant], 0.0


def sop(m, v, w, a=1.0):
    return ((1 - m) / (v + 1 / w), w) if m <= 0 else (0.0, 0.0)


def arow(m, v, w, r=1.0):
    return ((1 - m) / (v + r / w), w / r) if m < 1 else (0.0, 0.0)


def narow(m, v, w, b=1.0):
    if b * v <= 1:
        return (1.0, 0.0) if m < 1 else (0.0, 0.0)
    r = v / (b * v - 1)
    return ((r - m) / (v + r), 1 / r) if m * r / (v + r) < 1 else (0.0, 0.0)


def cw(m, v, w, confidence=0.7, form="variance"):
    phi = phi_of(confidence)
    if form == "std":
        return scw(m, v, 1.0, confidence=confidence, C=math.inf)
    if m >= phi * v:
        return 0.0, 0.0
    a = (-(1 + 2 * phi * m) + math.sqrt((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v))) / (
        4 * phi * v
    )
    return a, 2 * a * phi


def scw(m, v, w, variant="I", confidence="auto", C=1.0):
    phi = phi_of({"I": 0.75, "II": 0.9}[variant] if confidence == "auto" else confidence)
    if m >= phi * math.sqrt(v):
        return 0.0, 0.0
    if variant == "I":
        a = min(C * w, std_update(m, v, phi))
    else:
        n = v + 1 / (2 * C * w)
        root = phi * math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        a = (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2))
    return a, precision_update(a, v, phi)


UPDATES = {
    "PAClassifier": pa,
    "SecondOrderPerceptron": sop,
    "AROWClassifier": arow,
    "NAROWClassifier": narow,
    "CWClassifier": cw,
    "SCWClassifier": scw,
}


def run_pass(name, X, sides, weights, covariance="diagonal", intercept=True, **parameters):
    """Return mean and covariance after one pass over the rows, the constant column last, and the
    indices of the rows that changed them.
    """
    X = np.hstack([X, np.full((len(X), 1), float(intercept))])
    start = 1.0 / parameters.get("a", 1.0)
    mean, sigma, updated_rows = np.zeros(X.shape[1]), start * np.eye(X.shape[1]), []
    for i, (x, y, w) in enumerate(zip(X, sides, weights, strict=True)):
        p = sigma @ x
        v = x @ p
        if w == 0 or v <= 0:
            continue
        a, g = UPDATES[name](y * (mean @ x), v, w, **parameters)
        if a == 0 and g == 0:
            continue
        updated_rows.append(i)
        mean = mean + a * y * p
        if covariance == "full":
            sigma = sigma - g / (1 + g * v) * np.outer(p, p)
        else:
            s = np.diag(sigma)
            sigma = np.diag(s / (1 + g * x**2 * s))
    return mean, sigma, updated_rows
