"""Scales of data with outliers and unknown clusters: central rows, and the covariance of near points."""

from __future__ import annotations

import numpy as np

from hdpkit.arrays import Floats

NEAR = 10  # neighbours of a point
MOST = 2_000  # points, evenly spaced in the data: no more distances than the square of this are in memory
STEPS = 20  # at most
CHANGE = 0.01  # of a variance, relative to the step before, where steps end
OF_ALL = 0.001  # share of the data's covariance, so that equal values in a column don't give it no variance

FAR = 3.0  # distances of the outermost of all rows but one in twenty, beyond which a row is an outlier
FEW = 10  # rows, of which none is an outlier


def central(X: Floats) -> Floats:
    """The rows that are no outliers: those by which priors are made, shape (m, ...).

    The distance of a row is the largest of its columns from their medians, in units of half the range without
    the twentieth of the values at each end (if that is 0, the standard deviation). Outliers are farther than
    three times the distance that at most a twentieth of the rows exceed.
    """
    n, rows = len(X), X.reshape(len(X), -1)
    if n < FEW:
        return X
    cut = n // 20 + 1
    ordered = np.sort(rows, axis=0)
    spread = (ordered[-1 - cut] - ordered[cut]) / 2.0
    spread = np.where(spread > 0.0, spread, rows.std(axis=0))
    away = (np.abs(rows - ordered[n // 2]) / np.where(spread > 0.0, spread, 1.0)).max(axis=1)
    limit = FAR * np.sort(away)[-1 - cut]
    found: Floats = X[away <= limit] if limit > 0.0 else X
    return found


def near_variances(X: Floats, variances: Floats) -> Floats:
    """As `near_covariance`, for independent columns: shape (D,)."""
    return np.diag(near_covariance(X, np.diag(variances), independent=True)).copy()


def near_covariance(X: Floats, covariance: Floats, independent: bool = False) -> Floats:
    """Covariance with the shape of that within clusters, and the determinant of the one that is given.

    Art, Gnanadesikan & Kettenring 1982, "Data-based metrics for cluster analysis": the mean product of the
    differences of near points, where distances are measured by the covariance found in the step before.
    Points of one normal cluster that are near by this measure differ in all directions alike, so its shape
    doesn't change. If no two distances are equal, the result is the same in all units and, unless columns are
    independent, rotations.

    Parameters
    ----------
    X : float64 array, shape (n, D)
        Two points or more.
    covariance : float64 array, shape (D, D)
        Positive definite, with the shape of that of all points, for the first step.
    independent : bool
        Whether columns are independent: products of different ones are left out.

    Returns
    -------
    float64 array, shape (D, D)
    """
    n, D = X.shape
    if n > MOST:
        X = X[np.linspace(0, n - 1, MOST).astype(np.int64)]
    near = min(NEAR, len(X) - 1)
    found = covariance
    for _ in range(STEPS):
        white = np.linalg.solve(np.linalg.cholesky(found), (X - X.mean(axis=0)).T).T
        square = (white**2).sum(axis=1)
        distances = square[:, None] + square - 2.0 * white @ white.T
        np.fill_diagonal(distances, np.inf)
        pairs = np.argpartition(distances, near - 1, axis=1)[:, :near]
        away = (X[:, None, :] - X[pairs]).reshape(-1, D)
        product = np.diag((away**2).sum(axis=0)) if independent else away.T @ away
        size = np.trace(np.linalg.solve(covariance, product)) / (D * len(away))
        if not size > 0.0:  # all near points are equal
            return covariance
        product += max(D + 2.0, OF_ALL * len(away)) * size * covariance
        growth = np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(product)[1]
        before, found = found, (product + product.T) / 2.0 * np.exp(growth / D)
        if np.abs(np.linalg.eigvals(np.linalg.solve(before, found)) - 1.0).max() < CHANGE:
            break
    return found
