"""Names that differ between versions of other libraries."""

from sklearn.linear_model import LogisticRegression

# scikit-learn's logistic regression with an L1 penalty: `penalty` before 1.8, where `l1_ratio` was
# None, and `l1_ratio` since.
L1 = {"penalty": "l1"} if LogisticRegression().l1_ratio is None else {"l1_ratio": 1.0}
