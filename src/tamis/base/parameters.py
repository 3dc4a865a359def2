"""What the recipes' own parameters may be, in scikit-learn's words."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

NUMBER = Interval(Real, 0, None, closed="left")
ABOVE = Interval(Real, 0, None, closed="neither")
SHARE = Interval(Real, 0, 1, closed="both")
COUNT = Interval(Integral, 1, None, closed="left")
AUTO = StrOptions({"auto"})
TERM = "no_validation"  # names and terms are checked where they are paired

STRENGTH = {"alpha": [NUMBER, AUTO], "l1_ratio": [SHARE], "loss": TERM}
STEPPING = {"step": TERM, "eta": [ABOVE, AUTO]}
COVARIANCE = {"covariance": [StrOptions({"diagonal", "full"})]}
