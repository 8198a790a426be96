"""Programs of SciPy and scikit-learn that run in their array-API modes, which have to be switched on before SciPy is imported.

Run as a script it prints, for each program of a library, the values for tensors and for NumPy arrays, as JSON.
"""

import json
import sys

import numpy as np

A = np.random.default_rng(0).normal(size=(5, 4))
B = np.random.default_rng(1).normal(size=(5, 4))
V = np.array([1.0, 8.0, -1.0])
X = np.random.default_rng(2).normal(size=(40, 3))
Y = X @ np.array([1.0, 2.0, 3.0]) + B[0, 0]
LABELS = (X[:, 0] > 0).astype(np.int64)


def root(c):
    from scipy.optimize.elementwise import find_root

    return find_root(lambda x, c: x**3 - c, (0 * c - 2, 0 * c + 3), args=(c,)).x


def minimum(c):
    from scipy.optimize.elementwise import find_minimum

    return find_minimum(lambda x, c: (x - c) ** 2, (0 * c - 3, 0 * c, 0 * c + 9), args=(c,)).x


def integral(c):
    from scipy.integrate import tanhsinh

    return tanhsinh(lambda x, c: x ** (c * c), 0 * c, 0 * c + 1, args=(c,)).integral


def derivative(x):
    from scipy.differentiate import derivative

    return derivative(lambda x: x**3, x).df


def of(module, name, *args, pick=None, **kwargs):
    """A function of SciPy on fixed arrays."""
    def program(*xs):
        from importlib import import_module

        found = getattr(import_module(f"scipy.{module}"), name)(*xs, **kwargs)
        return getattr(found, pick) if pick else found
    return program, args


SCIPY = {
    "logsumexp": of("special", "logsumexp", A, axis=1), "softmax": of("special", "softmax", A, axis=1),
    "gammaln": of("special", "gammaln", abs(A)), "xlogy": of("special", "xlogy", abs(A), abs(B)),
    "log_ndtr": of("special", "log_ndtr", A), "entr": of("special", "entr", abs(A)),
    "zscore": of("stats", "zscore", A), "skew": of("stats", "skew", A), "kurtosis": of("stats", "kurtosis", A, axis=1),
    "variance": of("stats", "describe", A, pick="variance"), "entropy": of("stats", "entropy", abs(A)),
    "pvalue": of("stats", "ttest_ind", A, B, pick="pvalue"),
    "pearsonr": of("stats", "pearsonr", A, B, axis=0, pick="statistic"),
    "rosen": of("optimize", "rosen", A[0]), "root": (root, (V,)), "minimum": (minimum, (V / 4,)),
    "integral": (integral, (V / 4,)), "derivative": (derivative, (V,)), "trapezoid": of("integrate", "trapezoid", A),
    "detrend": of("signal", "detrend", A), "fft": of("fft", "fft", A), "whiten": of("cluster.vq", "whiten", A),
}


def fitted(module, name, method, supervised=None, **kwargs):
    """What an estimator of scikit-learn says about the data it was fitted to."""
    def program(x, *y):
        from importlib import import_module

        estimator = getattr(import_module(f"sklearn.{module}"), name)(**kwargs).fit(x, *y)
        return getattr(estimator, method)(x)
    return program, (X,) if supervised is None else (X, supervised)


def distances(x):
    from sklearn.metrics.pairwise import euclidean_distances

    return euclidean_distances(x)


def components(x):
    from sklearn.decomposition import PCA

    return abs(PCA(2, svd_solver="full").fit(x).transform(x))


SKLEARN = {
    "pca": (components, (X,)), "ridge": fitted("linear_model", "Ridge", "predict", Y, solver="svd"),
    "scaler": fitted("preprocessing", "StandardScaler", "transform"), "distances": (distances, (X,)),
    "discriminant": fitted("discriminant_analysis", "LinearDiscriminantAnalysis", "predict", LABELS),
    "bayes": fitted("naive_bayes", "GaussianNB", "predict_proba", LABELS),
}


def parts(x):
    x = np.asarray(x)
    return [x.real.tolist(), x.imag.tolist()]


def results(programs):
    import tenferro as tfr

    found = {}
    for name, (f, args) in programs.items():
        ours = f(*[tfr.asarray(a) for a in args])
        found[name] = [type(ours).__name__, parts(ours), parts(f(*args))]
    return found


if __name__ == "__main__":
    if sys.argv[1] == "scipy":
        print(json.dumps(results(SCIPY)))
    else:
        import sklearn

        with sklearn.config_context(array_api_dispatch=True):
            print(json.dumps(results(SKLEARN)))
