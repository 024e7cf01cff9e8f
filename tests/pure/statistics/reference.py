"""What SciPy says: one question a line of JSON, one answer a line."""

import json
import sys

from scipy import stats


def proportion(hits, trials, level):
    ends = stats.binomtest(hits, trials).proportion_ci(level, method="exact")
    return [ends.low, ends.high]


def upper(hits, trials, level):
    test = stats.binomtest(hits, trials, alternative="less")
    return [test.proportion_ci(level, method="exact").high]


def ranks(count, share, level):
    """By the binomial distribution, one rank after the other."""
    tail = (1 - level) / 2
    low = max((r for r in range(1, count + 1) if stats.binom.cdf(r - 1, count, share) <= tail),
              default=None)
    high = min((r for r in range(1, count + 1) if stats.binom.sf(r - 1, count, share) <= tail),
               default=None)
    return None if low is None or high is None else [low, high]


def fisher(a, of_a, b, of_b):
    return [stats.fisher_exact([[a, of_a - a], [b, of_b - b]]).pvalue]


def more_often(a, of_a, b, of_b):
    return [stats.fisher_exact([[a, of_a - a], [b, of_b - b]], alternative="greater").pvalue]


def mann_whitney(a, b):
    return [stats.mannwhitneyu(a, b, method="exact").pvalue]


def permuted(a, b):
    """Ties at their mean rank, all permutations."""
    pooled = stats.rankdata(a + b)
    mean = len(a) * (len(a) + len(b) + 1) / 2
    far = lambda x, y, axis: abs(x.sum(axis=axis) - mean)
    test = stats.permutation_test((pooled[: len(a)], pooled[len(a):]), far, n_resamples=10**6,
                                  alternative="greater", vectorized=True)
    return [test.pvalue]


def holm(*p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    out, most = [0] * len(p), 0
    for at, i in enumerate(order):
        most = max(most, min(1, p[i] * (len(p) - at)))
        out[i] = most
    return out


for line in sys.stdin:
    kind, *arguments = json.loads(line)
    print(json.dumps(globals()[kind](*arguments)), flush=True)
