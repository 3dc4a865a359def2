"""scikit-learn estimators: parameters, checks, one call, attributes."""
