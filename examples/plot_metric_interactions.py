"""
Which measurements of a tumour belong together?
===============================================

With ``max_order=2`` :class:`~tamis.SDist` also tries products of the columns that it has selected,
so the metric can name interactions. The table is the breast cancer set that comes with
scikit-learn: 569 tumours, 30 measurements.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import InteractionDisplay, MetricStepsDisplay, SDist, SDistClassifier

frame = load_breast_cancer(as_frame=True)
X, y = frame.data, frame.target

# %%
# Does it help?
# -------------
# Nearest neighbours on standardised columns do well on this set already. A sparse metric should do
# as well with fewer columns; products need not help, and a metric that uses them must be judged on
# rows that it has not seen.
for name, model in {
    "3-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "sDist": SDistClassifier(random_state=0),
    "sDist, products": SDistClassifier(max_order=2, random_state=0),
}.items():
    print(f"{name}: error {1 - cross_val_score(model, X, y, cv=5).mean():.3f}")

# %%
# The terms
# ---------
model = SDist(max_order=2, oob_z=2.0, random_state=0).fit(X, y)
shares = dict(
    zip(
        model.get_term_names(),
        (model.components_**2).sum(axis=0) / (model.components_**2).sum(),
        strict=True,
    )
)
for term in sorted(shares, key=shares.get, reverse=True)[:8]:
    print(f"{shares[term]:6.1%}  {term}")

# %%
# The graph and the course
# ------------------------
# Dots are columns by themselves, lines products, rings squares. Right: the loss falls with the
# steps while the metric grows; refreshes of the neighbours lift it, since nearer neighbours are
# harder to part.
figure, axes = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained")
InteractionDisplay.from_estimator(model, n_terms=24, ax=axes[0])
MetricStepsDisplay.from_estimator(model, ax=axes[1])
plt.show()
