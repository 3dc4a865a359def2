"""The figures: they draw the values of the model, use the axes of the user, and refuse models with
a message that names the way out.
"""

import inspect
import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from reporting.pages import HISTORY
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import tamis
from tamis import (
    DensityBiasDisplay,
    KernelWeightsDisplay,
    PixelDisplay,
    SelectionPathDisplay,
    SelectionProbabilityDisplay,
    StabilityDisplay,
    TrainingDisplay,
    TriClassDisplay,
    TriClassSVC,
    selection_kappa,
    selection_stability,
)
from tamis.reporting.displays.base import Display
from tamis.reporting.page import plot_data
from tamis.selection.agreement import pairwise_agreement

ALL = [getattr(tamis, name) for name in tamis.__all__ if name.endswith("Display")]
DISPLAYS = [
    DensityBiasDisplay,
    KernelWeightsDisplay,
    SelectionPathDisplay,
    SelectionProbabilityDisplay,
    StabilityDisplay,
    TrainingDisplay,
    TriClassDisplay,
]
PLACEHOLDER = re.compile(r"\{\w+\}")
RUNS = [[0, 1, 2], [0, 1, 3], [0, 1, 2], [0, 9]]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def makers(text, sieve, stabilized, record):
    """Every way to make a display."""
    X, _ = text
    return {
        "path": lambda **options: SelectionPathDisplay.from_estimator(sieve, **options),
        "probability": lambda **options: SelectionProbabilityDisplay.from_estimator(
            stabilized, **options
        ),
        "record": lambda **options: StabilityDisplay.from_record(record, **options),
        "supports": lambda **options: StabilityDisplay.from_supports(
            RUNS, n_features=20, **options
        ),
        "paths": lambda **options: StabilityDisplay.from_estimator(stabilized, **options),
        "density": lambda **options: DensityBiasDisplay.from_estimator(sieve, X, **options),
        "training": lambda **options: TrainingDisplay.from_estimator(stabilized, **options),
        "history": lambda **options: TrainingDisplay.from_history(HISTORY, **options),
        "few labels": lambda **options: TriClassDisplay.from_estimator(
            few_labels()[0], *few_labels()[1:], **options
        ),
    }


def few_labels(classes=2, **params):
    """A machine of few labels, its rows and labels."""
    class_number = np.arange(60) % (classes + 1)
    X = (
        0.5 * np.random.default_rng(0).normal(size=(60, 3))
        + 3.0 * np.eye(classes + 1, 3)[class_number]
    )
    y = np.where((np.arange(60) < 30) & (class_number < classes), class_number, -1)
    return TriClassSVC("3c", kernel="rbf", C_unlabeled=0.1, **params).fit(X, y), X, y


MAKERS = [
    "path",
    "probability",
    "record",
    "supports",
    "paths",
    "density",
    "training",
    "history",
    "few labels",
]


# --------------------------------------------------------------------------- the convention
@pytest.mark.parametrize("maker", MAKERS)
def test_axes_new_or_given(makers, maker):
    display = makers[maker]()
    assert display.ax_.figure is display.figure_
    figure, ax = plt.subplots()
    again = makers[maker](ax=ax)
    assert again.ax_ is ax
    assert again.figure_ is figure
    _, other = plt.subplots()
    assert again.plot(ax=other) is again
    assert again.ax_ is other
    assert other.get_xlabel() or other.get_xticklabels()
    figure.canvas.draw()


@pytest.mark.parametrize(
    ("maker", "style"),
    [
        ("path", {"color": "green"}),
        ("density", {"color": "green"}),
        ("supports", {"cmap": "Greens"}),
    ],
)
def test_the_style_can_be_changed(makers, maker, style):
    display = makers[maker](**style)
    if maker == "path":
        assert display.line_.get_color() == "green"
    elif maker == "density":
        assert display.points_.get_facecolor()[0][1] == pytest.approx(128 / 255)
    else:
        assert display.image_.get_cmap().name == "Greens"


@pytest.mark.parametrize("maker", MAKERS)
def test_without_matplotlib_the_error_names_the_extra(makers, maker, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Display\.plot .*tamis\[plot\]"):
        makers[maker]()


@pytest.mark.parametrize("display", ALL)
def test_displays_are_documented(display):
    doc = ClassDoc(display)
    assert issubclass(display, Display)
    assert [name for entry in doc["Parameters"] for name in entry.name.split(", ")] == list(
        inspect.signature(display).parameters
    )
    assert {"ax_", "figure_"} <= {entry.name for entry in doc["Attributes"]}
    assert f"from tamis import {display.__name__}" in "\n".join(
        doc["Examples"]
    ) or f"{display.__name__}." in "\n".join(doc["Examples"])
    assert not PLACEHOLDER.search(display.__doc__)
    for name, method in inspect.getmembers(display, callable):
        if name == "plot" or name.startswith("from_"):
            described = FunctionDoc(method)["Parameters"]
            assert [entry.name.lstrip("*") for entry in described] == [
                p for p in inspect.signature(method).parameters if p != "self"
            ]
            assert all(entry.type and entry.desc for entry in described)
            assert not PLACEHOLDER.search(method.__doc__)
            assert FunctionDoc(method)["Returns"][0].type == display.__name__


def test_a_parameter_is_described_once():
    """A new display describes its own parameters; its docstrings are completed."""

    class ThingDisplay(Display, content="a thing", estimators="SieveClassifier", drawn_by="`plot`"):
        """A thing.

        Attributes
        ----------
        {axes}
        """

        @classmethod
        def from_estimator(cls, estimator, X, *, size=1, ax=None, **kwargs):
            """Make it.

            Parameters
            ----------
            X : array
                Own words,
                of two lines.
            size : int, default=1
                How large.
            """

        def plot(self, ax=None, *, size=1, **kwargs):
            """Draw."""

    assert [entry.name for entry in ClassDoc(ThingDisplay)["Attributes"]] == ["ax_", "figure_"]
    make_doc, plot_doc = (
        FunctionDoc(method) for method in (ThingDisplay.from_estimator, ThingDisplay.plot)
    )
    assert make_doc["Summary"] == ["Make it."]
    assert [entry.name for entry in make_doc["Parameters"]] == [
        "estimator",
        "X",
        "size",
        "ax",
        "**kwargs",
    ]
    assert make_doc["Parameters"][0].type == "SieveClassifier"
    assert make_doc["Parameters"][1].desc == ["Own words,", "of two lines."]
    assert [entry.name for entry in plot_doc["Parameters"]] == ["ax", "size", "**kwargs"]
    assert plot_doc["Parameters"][1] == make_doc["Parameters"][2]
    assert plot_doc["Parameters"][2].desc == ["For matplotlib's `plot`."]
    with pytest.raises(TypeError, match=r"ThingDisplay .*SieveClassifier"):
        ThingDisplay._fitted_attribute(tamis.FTRLClassifier().fit([[0.0], [1.0]], [0, 1]), "path_")


# --------------------------------------------------------------------------- what is drawn
def test_the_path_is_that_of_the_sieve(sieve):
    """Size 0, which has no place on a logarithmic axis, is a horizontal line."""
    display, sizes = SelectionPathDisplay.from_estimator(sieve, name="mine"), sieve.sizes_
    assert sizes["size"][-1] == 0
    np.testing.assert_array_equal(display.line_.get_xdata(), sizes["size"][:-1])
    np.testing.assert_array_equal(display.line_.get_ydata(), sizes["error"][:-1])
    assert display.chosen_line_.get_xdata()[0] == sieve.resolved_params_["n_features"]
    assert display.baseline_line_.get_ydata()[0] == sieve.baseline_error_
    assert display.baseline_line_.get_label() == "no feature"
    assert display.line_.get_label() == "mine"
    (band,) = display.fill_between_.get_paths()
    heights = set(np.round(band.vertices[:, 1], 12))
    for sign in (-1.0, 1.0):
        edge = sizes["error"][:-1] + sign * sizes["standard_error"][:-1]
        assert set(np.round(edge, 12)) <= heights


def test_a_path_without_more_than_sizes_and_errors():
    display = SelectionPathDisplay(n_features=[9, 3, 0], error=[0.1, 0.2, 0.5]).plot(name="mine")
    assert display.line_.get_xdata().tolist() == [9, 3]
    assert (display.fill_between_, display.baseline_line_, display.chosen_line_) == (None,) * 3
    with pytest.raises(ValueError, match="equal length"):
        SelectionPathDisplay(n_features=[9, 3], error=[0.1, 0.2], standard_error=[0.1])


def test_the_path_of_a_sieve_that_found_nothing(empty_sieve):
    display = SelectionPathDisplay.from_estimator(empty_sieve)
    assert display.chosen == 0
    assert display.chosen_line_ is None
    assert display.baseline_line_.get_label() == "no feature (chosen)"
    display.figure_.canvas.draw()
    assert not len(SelectionProbabilityDisplay.from_estimator(empty_sieve).kept_points_.get_xdata())


def test_each_class_has_its_path(text, class_numbers):
    model = tamis.SieveClassifier(per_class=True, random_state=0).fit(text[0], class_numbers)
    for output in range(3):
        display = SelectionPathDisplay.from_estimator(model, output=output)
        np.testing.assert_array_equal(display.error, model.sizes_[output]["error"][:-1])
        assert display.baseline_error == model.baseline_error_[output]
    with pytest.raises(ValueError, match="between 0 and 2"):
        SelectionPathDisplay.from_estimator(model, output=3)


def test_kept_features_come_by_importance_where_it_is_known(sieve):
    display = SelectionProbabilityDisplay.from_estimator(sieve)
    np.testing.assert_array_equal(display.importance, sieve.importance_[0])
    plotted = SelectionProbabilityDisplay(
        probability=[0.9, 0.2, 1.0, 0.4, 0.0],
        kept=[True, True, True, False, False],
        importance=[1.0, 3.0, 2.0, 0.0, 0.0],
    ).plot()
    assert plotted.kept_points_.get_xdata().tolist() == [1, 2, 3]
    assert plotted.kept_points_.get_ydata().tolist() == [0.2, 1.0, 0.9]
    assert plotted.other_points_.get_ydata().tolist() == [0.4]


def test_pixels_of_a_sieve_are_as_large_as_their_importance(sieve):
    display = PixelDisplay.from_estimator(sieve, (15, 20))
    np.testing.assert_array_equal(display.importances.ravel(), sieve.importance_[0])


def test_probabilities_fall_and_kept_ones_are_filled(stabilized):
    display = SelectionProbabilityDisplay.from_estimator(stabilized)
    assert len(display.kept_points_.get_xdata()) == len(stabilized.support_)
    assert display.threshold_line_.get_ydata()[0] == stabilized.purge
    ranks = np.concatenate([display.kept_points_.get_xdata(), display.other_points_.get_xdata()])
    heights = np.concatenate([display.kept_points_.get_ydata(), display.other_points_.get_ydata()])
    assert sorted(ranks.tolist()) == list(range(1, len(ranks) + 1))
    assert (np.diff(heights[np.argsort(ranks)]) <= 0).all()


def test_thresholds(sieve, text):
    assert SelectionProbabilityDisplay.from_estimator(sieve).threshold is None
    selector = tamis.StabilitySelector(
        tamis.RDAClassifier(max_iter=1, tol=None),
        n_pairs=5,
        n_selected=20,
        threshold=0.6,
        random_state=0,
    )
    display = SelectionProbabilityDisplay.from_estimator(selector.fit(*text))
    assert display.threshold == 0.6
    assert np.flatnonzero(display.kept).tolist() == selector.support_.tolist()


def test_the_matrix_of_agreement(record):
    matrix = StabilityDisplay.from_supports(RUNS, n_features=20).matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.diagonal(), 1.0)
    first, second = np.triu_indices(4, 1)
    assert matrix[first, second].mean() == pytest.approx(selection_kappa(RUNS, 20))
    overlaps = pairwise_agreement(RUNS, 20, "jaccard")
    assert overlaps[0, 1] == 0.5
    assert overlaps[first, second].mean() == pytest.approx(
        selection_stability(RUNS, 20, measure="jaccard").value
    )
    assert pairwise_agreement([[], [], [3]], 20).tolist() == [
        [1.0, 1.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ]
    display = StabilityDisplay.from_record(record)
    supports = [run["support"] for run in record.runs]
    assert display.matrix[0, 1] == pytest.approx(selection_kappa(supports[:2], 300))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(
        dict.fromkeys(display.labels)
    )


def test_paths_of_a_stabilized_model(stabilized):
    display = StabilityDisplay.from_estimator(stabilized, measure="jaccard")
    supports = stabilized.paths_[:, 0] != 0
    assert display.matrix[0, 1] == pytest.approx(
        (supports[0] & supports[1]).sum() / (supports[0] | supports[1]).sum()
    )


def test_several_outputs_are_joined():
    """The highest probability counts, and a path keeps what any output of it keeps."""
    attributes = {
        "selection_probability_": np.array([[0.2, 0.9, 0.0], [0.7, 0.1, 0.0]]),
        "coef_": np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]),
        "support_": np.array([0, 1]),
        "paths_": np.array(
            [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]
        ),
    }
    Model = type(
        "Shown",
        (BaseEstimator,),
        {**attributes, "fit": None, "__sklearn_is_fitted__": lambda self: True},
    )
    assert SelectionProbabilityDisplay.from_estimator(Model()).probability.tolist() == [
        0.7,
        0.9,
        0.0,
    ]
    assert StabilityDisplay.from_estimator(Model(), measure="jaccard").matrix[
        0, 1
    ] == pytest.approx(2 / 3)


def test_fractions_by_density():
    density = np.array([0.0, 0.01, 0.01, 0.1, 0.1, 0.1, 0.1, 1.0])
    profile = plot_data.density_profile(density, [2, 4, 7], 3)
    np.testing.assert_allclose(profile.density, [0.01, 0.1, 1.0])
    np.testing.assert_allclose(profile.kept_fraction, [0.5, 0.25, 1.0])
    assert profile.counts.tolist() == [2, 4, 1]
    alone = plot_data.density_profile([0.2, 0.2], [1], 3)
    np.testing.assert_allclose(
        [alone.density[0], alone.kept_fraction[0], alone.counts[0]], [0.2, 0.5, 2]
    )
    assert len(plot_data.density_profile([0.0, 0.0], [], 3).density) == 0
    display = DensityBiasDisplay.from_density(density, [2, 4, 7], n_groups=3, name="any")
    sizes = display.points_.get_sizes()
    assert sizes[1] > sizes[0] > sizes[2]


def test_density_of_any_matrix(sieve, text, density):
    X, _ = text
    densities = [
        DensityBiasDisplay.from_estimator(sieve, matrix).density
        for matrix in (X, X.tocsc(), X.toarray())
    ]
    np.testing.assert_array_equal(densities[0], densities[1])
    np.testing.assert_array_equal(densities[0], densities[2])
    np.testing.assert_allclose(
        densities[0], plot_data.density_profile(density, sieve.support_).density
    )


def test_truncation_prefers_common_features_and_stabilized_learning_does_not():
    """As in figure 3 of the paper, the fraction kept rises with density for truncated gradient, and
    does not for the stabilized method.
    """
    correlations = []
    for seed in range(3):
        X, y, _ = tamis.datasets.make_text(1000, 2000, random_state=seed)
        truncated = tamis.TruncatedGradientClassifier(
            gravity=3e-4, max_iter=3, tol=None, random_state=seed
        ).fit(X, y)
        stabilized = tamis.StabilizedSGDClassifier(max_iter=3, random_state=seed).fit(X, y)
        displays = [
            DensityBiasDisplay.from_estimator(model, X) for model in (truncated, stabilized)
        ]
        correlations.append(
            [np.corrcoef(np.log(display.density), display.share)[0, 1] for display in displays]
        )
    truncated, stabilized = np.mean(correlations, axis=0)
    assert truncated > 0.3  # 0.63 and -0.70 over many draws; the mean of three strays by 0.08
    assert stabilized < -0.3


def test_the_curve_of_training(multiclass):
    display = TrainingDisplay.from_estimator(multiclass)
    assert display.rows.tolist() == [step["rows"] for step in multiclass.history_]
    assert display.loss_line_.get_ydata().tolist() == [step["loss"] for step in multiclass.history_]
    assert display.kept_line_.get_ydata().tolist() == [
        step["nonzeros"] for step in multiclass.history_
    ]
    assert TrainingDisplay.from_history(HISTORY).loss_name == "progressive error"


def test_long_histories_are_averaged():
    steps = [
        {"rows": k, "loss": float(k % 2), "kept": 1000 - k, "output": 0} for k in range(1, 1001)
    ]
    (curve,) = plot_data.training_curves(steps)
    assert len(curve.rows) == plot_data.MAX_CURVE_POINTS
    assert curve.rows[-1] == 1000
    assert curve.kept[-1] == 0
    assert np.abs(curve.loss - 0.5).max() < 0.1
    assert np.isnan(curve.error).all()


# --------------------------------------------------------------------------- refusals
def test_models_that_lack_what_is_shown(sieve, multiclass):
    for display, model, way_out in (
        (SelectionPathDisplay, multiclass, "n_features_to_select='auto'"),
        (SelectionProbabilityDisplay, multiclass, "StabilitySelector"),
        (StabilityDisplay, sieve, "from_supports"),
        (TrainingDisplay, sieve, "SelectionPathDisplay"),
    ):
        lacks = f"{display.__name__} shows .* which {type(model).__name__} does not have"
        with pytest.raises(TypeError, match=f"{lacks}.*{way_out}"):
            display.from_estimator(model)


@pytest.mark.parametrize("display", DISPLAYS)
def test_models_that_are_not_fitted(display, text):
    arguments = {DensityBiasDisplay: (text[0],), TriClassDisplay: text}.get(display, ())
    with pytest.raises(NotFittedError):
        display.from_estimator(
            TriClassSVC() if display is TriClassDisplay else tamis.SieveClassifier(), *arguments
        )


def test_bad_arguments(record, sieve, text):
    with pytest.raises(ValueError, match=r"keep_supports=True"):
        StabilityDisplay.from_record(tamis.Record())
    with pytest.raises(ValueError, match=r"'kappa', 'jaccard'. Got 'dice'"):
        StabilityDisplay.from_record(record, measure="dice")
    with pytest.raises(ValueError, match="labels has 1 entries for 2 runs"):
        StabilityDisplay(matrix=np.eye(2), labels=["a"])
    with pytest.raises(ValueError, match="as many rows as columns"):
        StabilityDisplay(matrix=np.ones((2, 3)))
    with pytest.raises(ValueError, match="n_groups"):
        DensityBiasDisplay.from_estimator(sieve, text[0], n_groups=0)
    with pytest.raises(ValueError, match="equal length"):
        TrainingDisplay(rows=[1, 2], loss=[1], kept=[1])
    with pytest.raises(ValueError, match="nothing of output 4"):
        TrainingDisplay.from_history(HISTORY, output=4)


# --------------------------------------------------------------------------- few labels
@pytest.mark.parametrize("classes", [2, 3])
def test_regions_and_points_are_what_the_machine_says(classes):
    model, X, y = few_labels(classes)
    display = TriClassDisplay.from_estimator(model, X, y, columns=(1, 0), resolution=20)
    assert display.regions.shape == (20, 20)
    plane = np.tile(X.mean(axis=0), (400, 1))
    plane[:, 1], plane[:, 0] = np.tile(display.grid[0], 20), np.repeat(display.grid[1], 20)
    expected = model.predict_tri(plane)
    np.testing.assert_array_equal(
        display.regions.ravel(), np.where(expected == model.irrelevant_label_, -1, expected)
    )
    assert (display.scores is None) == (classes > 2)
    predicted = model.predict_tri(X)
    np.testing.assert_array_equal(
        display.kinds,
        np.where(y >= 0, y, np.where(predicted == model.irrelevant_label_, -1, predicted)),
    )
    assert sum(len(points.get_offsets()) for points in display.points_) == len(X)
    assert display.ax_.get_xlabel() == "column 1"


@pytest.mark.filterwarnings("ignore:TriClassSVC makes no use of 40 rows")
def test_a_frame_of_few_labels_keeps_its_names():
    import pandas as pd

    _, X, y = few_labels()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    display = TriClassDisplay.from_estimator(TriClassSVC().fit(frame, y), frame, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("a", "b")


def test_machines_without_a_plane_are_refused():
    model, X, y = few_labels()
    with pytest.raises(TypeError, match="Fit a TriClassSVC"):
        TriClassDisplay.from_estimator(tamis.FTRLClassifier(), X, y)
    with pytest.raises(ValueError, match="precomputed kernel knows no plane"):
        TriClassDisplay.from_estimator(model.set_params(kernel="precomputed"), X, y)
    options = {"scores": None, "points": X[:, :2], "kinds": y, "labelled": y >= 0, "classes": [0]}
    with pytest.raises(ValueError, match="one number a point"):
        TriClassDisplay(grid=(np.arange(3), np.arange(2)), regions=np.zeros((3, 2)), **options)
