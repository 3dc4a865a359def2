"""The base of all estimators."""

import inspect

from sklearn.base import BaseEstimator

from tamis.base.machine.threads import alone, is_alone

TRAINING = ("fit", "partial_fit", "refine", "fit_transform", "fit_predict")


class Estimator(BaseEstimator):
    """Base of all estimators: whatever method of theirs trains, inherited or mixed in, is for one
    thread at a time.
    """

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        for name in TRAINING:
            method = inspect.getattr_static(cls, name, None)
            if inspect.isfunction(method) and not is_alone(method):
                setattr(cls, name, alone(method))
