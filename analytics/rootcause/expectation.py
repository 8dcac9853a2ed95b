"""Says how many bad events each leaf would have had if nothing had changed; never looks at the bad events during."""

from __future__ import annotations

import numpy as np

from analytics.rootcause.leaves import FloatArray, Leaves

#: Pseudo-events that a leaf's own history is weighed against; 25 was the best of {5, 25, 100} in the prototype that
#: the method was chosen on.
SHRINKAGE = 25.0
#: Rounds of the main-effects fit; the factors move less than 1 % after the fourth on tables of eight dimensions.
ROUNDS = 5
#: A level's factor is held within these bounds, so that a level with three events cannot claim a hundredfold rate.
FACTOR_BOUNDS = (0.05, 20.0)
#: Pseudo bad events that pull a level's factor towards 1.
PRIOR_EVENTS = 2.0


def baseline_rate(leaves: Leaves) -> FloatArray:
    """Return the expected bad share of each leaf, shape (leaves,), in (0, 1).

    The leaf's own history is shrunk towards a product of main effects fitted by iterative scaling, so a leaf that was
    never seen (a new version on a new instance) gets the rate of its other dimensions.
    """
    total = leaves.n_before.sum()
    overall = (leaves.bad_before.sum() + 0.5) / (total + 1.0)
    fitted = np.full(len(leaves.n_before), overall)
    for _ in range(ROUNDS):
        for codes, levels in zip(leaves.codes, leaves.levels, strict=True):
            if len(levels) < 2:
                continue
            seen = np.bincount(codes, weights=leaves.bad_before, minlength=len(levels))
            expected = np.bincount(codes, weights=leaves.n_before * fitted, minlength=len(levels))
            factor = np.clip((seen + PRIOR_EVENTS) / (expected + PRIOR_EVENTS), *FACTOR_BOUNDS)
            fitted = np.clip(fitted * factor[codes], 1e-9, 0.999)
    rate = (leaves.bad_before + SHRINKAGE * fitted) / (leaves.n_before + SHRINKAGE)
    clipped: FloatArray = np.clip(rate, 1e-9, 1.0)
    return clipped
