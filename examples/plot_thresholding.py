"""
What a threshold saves, and what it costs
=========================================

Text as tf-idf holds many small numbers. How many can be dropped before a model suffers? A
certificate says so without a fit on the whole data. Here words matter whatever their weight in a
row is, so that not many can go: where a threshold would destroy the model, the certificate tells.
"""

from tamis import ThresholdDisplay, ThresholdedClassifier
from tamis.datasets import make_text

# %%
# Text
# ----
# Rows of unit length, some sixty words each; twenty words matter.
X, y, planted = make_text(n_samples=6000, n_features=8000, random_state=0)
train, test = slice(0, 4000), slice(4000, 6000)
print(
    f"{X.shape[0]} rows, {X.shape[1]} columns, {X.nnz} entries from {X.data.min():.2f} to "
    f"{X.data.max():.2f}"
)

# %%
# Ask for a distance
# ------------------
# The model may be 5 % from the optimum on the whole data. The threshold is halved until that is
# certain.
model = ThresholdedClassifier(alpha=2e-4, max_error=0.05).fit(X[train], y[train])
for record in model.history_:
    print(
        f"threshold {record['threshold']:.3f} keeps {record['kept_fraction']:.0%}: at most "
        f"{record['rel_gap']:.1%} from the optimum"
    )

# %%
# All thresholds
# --------------
# The certificate rises where accuracy begins to fall. What is known before the fit is of no use
# here: it would allow thresholds far below the penalty, and hence nearly all entries to stay.
display = ThresholdDisplay.from_estimator(
    ThresholdedClassifier(alpha=2e-4),
    X[train],
    y[train],
    [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2],
    X_test=X[test],
    y_test=y[test],
)
display.figure_.suptitle("An L1 classifier on thresholded text")
