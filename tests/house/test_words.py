"""One word, one meaning: a table of all parameters, and what each means in every family."""

import dataclasses

import pytest
from registry import ESTIMATORS

# Word: what it means in every family, and words of which its sentence must hold one.
WORDS = {
    "a": ("precision of each weight before the first row",),
    "adaptive_burst": ("how much longer bursts become as features leave",),
    "alpha": ("strength of a penalty", "strength", "price"),
    "alphas": ("strengths, or how many of them",),
    "annealing": ("how the rejection falls as features leave",),
    "assumption": ("what is assumed of the selection shares of false features",),
    "average": ("whether to show averaged weights",),
    "b": ("inverse of the variance at which a row counts as sure",),
    "balance": ("mean score to hold the unlabelled rows at, exactly",),
    "balance_tasks": ("whether every task counts alike",),
    "beta": ("added to each feature's divisor, in units of gradients",),
    "block_size": ("features selected in a round",),
    "burn_in": ("what comes before the method proper, and is left out of what is counted",),
    "burn_ins": ("burn-ins to try",),
    "burst": ("rows between two truncations of a path",),
    "bursts_per_stage": ("bursts between two votes of all paths",),
    "C": ("cost of errors", "cost", "price"),
    "C_irrelevant": ("cost of the loss of a row known as irrelevant",),
    "C_unlabeled": ("cost of the loss of an unlabelled row",),
    "cardinality": ("most columns of a direction",),
    "center": ("whether to subtract the columns' means",),
    "class_weight": ("weights of classes", "weights of the classes"),
    "coef0": ("constant of 'poly' and 'sigmoid'",),
    "complementary": ("whether the two halves of a pair share no row (Shah and Samworth)",),
    "complexity": ("price of the trace of the root of W",),
    "concentration": ("weight of a fresh first column against those in use",),
    "confidence": ("probability with which a row should be right", "probability"),
    "correction": ("which dependence of the tests q-values allow for", "depend"),
    "cov_C": ("what a row adds to the precision",),
    "covariance": ("form of the covariance of the weights", "variance", "identity"),
    "criterion": ("score by which features are chosen", "score"),
    "cv": ("folds",),
    "degree": ("degree of 'poly'",),
    "delta": ("probability with which error_upper_ may be too small",),
    "dtype": ("precision of the products",),
    "early_stopping": ("whether to hold out rows and end by their score",),
    "ellipsoid": ("covariance matrix of the errors of rows, or its diagonal",),
    "epsilon": ("width of a tube in which errors cost nothing", "tube", "cost nothing"),
    "estimator": ("the model that does the work",),
    "eta": ("size of steps", "step"),
    "eta_factors": ("step sizes to try, as multiples of the automatic one",),
    "fading_threshold": ("extra threshold that fades", "fades"),
    "fit_intercept": ("whether to learn an intercept", "intercept", "constant column"),
    "form": ("form of the margin",),
    "gamma": ("width of a Mercer kernel", "width"),
    "gravity": ("pull towards zero for each row of the burst that has the feature",),
    "group_weights": ("weights of the norms of groups",),
    "groups": ("groups of columns",),
    "grow": ("whether a stream accepts new columns and classes", "accepts"),
    "hash_bits": ("words are hashed into two to this power of columns", "hash"),
    "init": ("where '3c' and 's3vm' start, which decides where they end",),
    "intercept_scaling": ("value of the constant column",),
    "irrelevant_label": ("what marks rows known as irrelevant in y",),
    "keep": ("what is kept: columns, or a share of the entries", "kept", "share"),
    "kernel": ("'linear', 'rbf', 'poly', 'sigmoid', 'cosine', 'precomputed' (X is",),
    "kernels": ("kernels to choose from",),
    "kinds": ("what columns of a table are", "columns are"),
    "l1_ratio": ("share of L1", "share of l1"),
    "l1_weight": ("weight of L1 beside a norm", "weight"),
    "l1_weights": ("weights :math:r_g of L1 inside the groups, beside the whole",),
    "learning_rate": ("what the weight of a step is multiplied by",),
    "loss": ("loss", "loss", '"hinge"', '"squared_error"', '"logistic"'),
    "max_error": ("largest distance from the optimum on the whole data",),
    "max_false": ("largest expected number of false selections",),
    "max_features": ("candidate columns drawn for a step",),
    "max_frequencies": ("most frequencies at a time",),
    "max_iter": ("most passes or iterations", "most", "tried", "moves"),
    "max_kernel_bytes": ("most memory for stored kernels",),
    "max_order": ("most columns in a product",),
    "max_rows": ("most rows of an exact fit",),
    "max_terms": ("most products among the candidates",),
    "mean_frequencies": ("mean of the Poisson prior of the number of frequencies, before it",),
    "min_votes": ("least number of votes by which a feature is judged",),
    "missing": ("what a gap means", "gap"),
    "mode": ("whether max_error is a share of the optimum, or in units of the",),
    "multi_class": ("with several classes, one machine a pair of classes, or one a",),
    "n_candidates": ("how many columns are tested",),
    "n_chains": ("chains from different starts",),
    "n_components": ("size of a representation", "rank", "component", "columns", "size"),
    "n_controls": ("most correlates that a column is tested against",),
    "n_features_to_select": ("how many features to keep", "how many", "most features"),
    "n_folds": ("number of folds",),
    "n_iter_no_change": ("passes without improvement before fit ends",),
    "n_jobs": ("threads or processes", "thread", "at a time"),
    "n_lanczos": ("steps of Lanczos' method",),
    "n_neighbors": ("neighbours of each side, k",),
    "n_oversamples": ("random projections beyond k",),
    "n_pairs": ("pairs of halves (B)",),
    "n_paths": ("paths of descent that vote together",),
    "n_power_iter": ("power iterations",),
    "n_refreshes": ("how often the neighbours are sought again, in the learnt kernel",),
    "n_sample": ("rows that partial_fit keeps for refine",),
    "n_screen": ("first rows, kept to find what is tested", "first rows"),
    "n_selected": ("most features that a run may keep (q)",),
    "ngrams": ("longest run of words of a text that has a column of its own",),
    "normalize": ("what is made 1 in each kernel",),
    "oob_z": ("out-of-bag screening",),
    "opp_per_class": ("with several classes, whether a row has k neighbours in every",),
    "p": ("norm of the weights at l1_ratio=0",),
    "param_name": ("parameter with the strength of the penalty",),
    "param_values": ("a number asks for an automatic path of so many values, from about",),
    "penalty": ("'individual'",),
    "per_class": ("with several classes, labels or targets, whether each has a",),
    "perturbation": ("norm of the perturbation of the rows to insure against, which is",),
    "positive": ("whether weights must not be negative", "negative"),
    "prior_mean": ("mean that the next batch starts from",),
    "probability": ("whether to have predict_proba",),
    "protocol": ("'round'",),
    "purge": ("a feature leaves for good if, of the bursts of a stage that met",),
    "purges": ("purges to try",),
    "q": ("largest expected share of false features among those kept",),
    "r": ("how little a single row is trusted",),
    "radius": ("bound r of the weights' L1 norm",),
    "ramp": ("where the ramp loss of 's3vm' is cut off",),
    "random_state": ("seed", "seed", "draws"),
    "rare": ("rows of a level below which it is rare", "rare"),
    "refit": ("whether to learn the final weights by a linear SVM (the same C",),
    "refresh_every": ("steps after which neighbours are found anew in the metric so far",),
    "rejection": ("gravity is set so that it exceeds this share of the last stage's",),
    "rejections": ("rejections to try",),
    "rho": ("share of columns", "share"),
    "robustness": ("share of the matrix's error to insure against, from 0 to 1",),
    "rule": ("'descent', 'dual_averaging', 'ftrl' or 'adagrad'",),
    "scale": ("prior standard deviation of a frequency's numbers, for columns of",),
    "screen": ("which columns are looked at closely, and how they are found", "columns", "found"),
    "se": ("how many standard errors of held-out loss to give up for fewer",),
    "share_weights": ("whether several outputs (one against the rest, labels, targets)",),
    "sharpness": ("the factor a of the likelihood",),
    "shuffle": ("whether fit walks the rows in a new order each pass",),
    "sigma": ("strength of the ridge part",),
    "solver": ("'blocks'",),
    "standardize": ("whether kernels of a dictionary see columns of mean 0 and",),
    "step": ("schedule of the step sizes",),
    "stop": ("from 0.1 to 1",),
    "stratify": ("whether each half gets half of every class",),
    "strength": ("penalty on contributions with all features, between 0 and 1",),
    "subsample": ("share of the rows in the bag of a step, drawn without replacement",),
    "substitutes": ("correlation above which a column may stand in for another",),
    "t0": ("rows before the steps begin to fall",),
    "targets": ("what y holds",),
    "theta": ("weights above it are not shrunk",),
    "theta_tol": ("rounds end early when the dual, theta, changes by at most this",),
    "thin": ("moves between two looks at a chain",),
    "threshold": ("entries of this size or less are dropped",),
    "tol": ("when to stop", "end", "stop", "gap", "violation"),
    "tolerance": ("share of the least error that may be given up for fewer features", "share"),
    "uncertainty": ("what may be wrong with the data",),
    "units": ("whether numbers are in units of their spread", "spread"),
    "unlabeled": ("what marks unlabelled rows in y",),
    "validation_fraction": ("share of rows held out with early_stopping",),
    "variant": ("no slack, linear slack, squared slack",),
    "verbose": ("progress bar of fit",),
    "warm_start": ("whether a fit goes on from the present state", "present", "begin", "start"),
    "weights": ("whether weights are learnt, or all 1 / n_kernels",),
}


def sentences(cls):
    """Sentences of a class's parameters by name."""
    return {field.name: field.metadata["sentence"] for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_word_is_in_the_table(cls):
    unknown = set(sentences(cls)) - set(WORDS)
    assert not unknown, f"{sorted(unknown)}: use a word that is there, or add what it means"


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_words_mean_what_the_table_says(cls):
    for name, sentence in sentences(cls).items():
        marks = WORDS[name][1:]
        assert not marks or any(mark in sentence.lower() for mark in marks), (name, sentence)


def test_no_word_is_left_over():
    assert set(WORDS) == {name for cls in ESTIMATORS for name in sentences(cls)}


def test_words_that_meant_something_else_are_gone():
    """What was said in two ways, or meant two things, before parameters were declared."""
    gone = {"n_steps", "n_iter", "n_features", "score", "eps", "kappa", "carry", "mix", "l1_share"}
    assert not gone & set(WORDS)
