"""Save and load fitted models without pickle: a file that people can read and that runs no code."""

import os
import struct
from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator

from tamis.data.tables.frames import Reading
from tamis.model_files import classes
from tamis.model_files.blocks import Blocks
from tamis.model_files.container import AGAIN, ModelFileError, is_model, read_header, write_file
from tamis.model_files.decode import Decoder
from tamis.model_files.encode import Encoder
from tamis.system.files import StrPath, made_from, refuse_inputs, sources_of
from tamis.system.schema import ContentsError, settled
from tamis.system.threads import locked

__all__ = ["ModelFileError", "load", "save"]

# What Python and NumPy raise on a header that says what cannot be.
_NONSENSE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


@locked
def save(model: BaseEstimator, path: StrPath) -> None:
    r"""Save a model of tamis to one file, without pickle.

    The file starts with a few readable lines and a JSON header (``head -c 1500 model.tamis`` shows
    the class, its parameters and the versions it was fitted with), then come the arrays as plain
    bytes, then a checksum of it all. It holds no time, host, user or path: the same model gives the
    same bytes. Of arrays that are mostly zero only the nonzero part is stored, so a model of
    10\ :sup:`8` features and a few hundred active ones is a small file.

    Choose it to ship a model, to keep it for years, or to take one from somebody else. Choose
    pickle or joblib for pipelines that mix estimators of tamis with those of other libraries.

    Parameters
    ----------
    model : estimator
        A public estimator of tamis, fitted or not. Parameters and attributes may hold None, bool,
        numbers, str, bytes, NumPy scalars and arrays, CSR and CSC matrices, lists, tuples, dicts,
        terms, random generators (PCG64 or MT19937) and other estimators of tamis.
    path : str or os.PathLike
        Where to write. The file appears there once it is whole and on disk; until then, and if
        saving fails, an older file of that name stays as it was.

    Raises
    ------
    TypeError
        If an attribute holds something else; the message names it.
    ValueError
        If it would replace a file that the model was trained from in this process.
    OSError
        If the folder does not exist, is full or may not be written to.

    See Also
    --------
    load : Read the file back.

    Notes
    -----
    Arrays come back in the machine's byte order and in C order (Fortran order where they had that),
    and attributes that share memory come back apart. Of a random generator the state is kept, not
    the seed sequence that ``spawn`` draws on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from tamis import FOBOSClassifier, load, save
    >>> X, y = make_classification(random_state=0)
    >>> model = FOBOSClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.tamis"
    ...     save(model, path)
    ...     print(path.read_bytes()[:11].decode())
    ...     again = load(path)
    TAMIS MODEL
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    name = os.fsdecode(path)
    # Over the file that it was loaded from a model may be saved.
    refuse_inputs(name, sources_of(model), may_replace=is_model)
    encoder = Encoder()
    body = encoder.model(model, type(model).__name__)
    for part in (body["parameters"], body["attributes"]):
        part |= {name: encoder.moved(value) for name, value in part.items()}
    table, place = [], 0
    for block in encoder.blocks:
        table.append(block.entry(place))
        place += block.length
    count = vars(model).get("n_features_in_")
    header = {
        "class": body["class"],
        "versions": classes.versions(),
        "features": None if count is None else int(count),
        "parameters": body["parameters"],
        "attributes": body["attributes"],
        "blocks": table,
    }
    write_file(name, header, encoder.blocks)


def load(path: StrPath, *, terms: Iterable[type] = ()) -> Any:
    """Load a model that `save` wrote.

    Nothing in the file is executed or imported: classes are looked up by name among the public
    estimators and terms of tamis. The checksum is verified before anything is read. Parameters that
    the file lacks take their defaults.

    Parameters
    ----------
    path : str or os.PathLike
        A file written by `save`.
    terms : iterable of classes, default=()
        The classes of your own terms, if the model was fitted with any: ``terms=[MyLoss]``. A class
        whose code changed since is refused, for it would give other predictions under the same
        name.

    Returns
    -------
    model : estimator
        The model as it was: same predictions, and `partial_fit` goes on from the same bits.

    Raises
    ------
    ModelFileError
        If the file is no model of tamis, is cut short or damaged, is of another format, names a
        class or term that is not known here, or contradicts itself. It is a ValueError.

    See Also
    --------
    save : Write the file.

    Notes
    -----
    The checksum tells of accidents, not of malice: whoever writes a file can sign it. A file made
    to deceive runs no code: every attribute is compared with what its class declares (dtype, shape,
    range), and the parameters with scikit-learn's rules, before any array is read. A file that
    contradicts itself takes no memory; one that does not may still hold wrong numbers, as may any
    model from a stranger.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from tamis import FOBOSClassifier, load, save
    >>> X, y = make_classification(random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.tamis"
    ...     save(FOBOSClassifier().fit(X, y), path)
    ...     model = load(path)
    >>> model.n_features_in_
    20
    """
    name = os.fsdecode(path)
    own = classes.users_terms(terms)
    if os.path.exists(name) and not os.path.isfile(name):  # a FIFO would wait for its writer
        raise ModelFileError(f"{name}: this is no regular file. Write the model to one.")
    with open(name, "rb") as file:
        try:
            header, start, end = read_header(file)
            blocks = Blocks(file, header.get("blocks"), start, end)
            model = settled(Decoder(blocks, own, header["versions"]).model(header))
            blocks.finish()
        except ModelFileError as error:
            raise ModelFileError(f"{name}: {error}") from None
        except ContentsError as error:
            raise ModelFileError(f"{name}: {error}. {AGAIN}") from None
        except MemoryError as error:
            raise ModelFileError(
                f"{name}: its arrays do not fit into this machine's memory ({error}). Load it on a "
                "larger one."
            ) from error
        except _NONSENSE as error:
            raise ModelFileError(
                f"{name}: the header is inconsistent ({type(error).__name__}: {str(error)[:200]}). "
                f"{AGAIN}"
            ) from error
    if isinstance(reading := vars(model).get("reading_"), dict):
        model.reading_ = Reading(reading)  # by which frames are read
    made_from(model, [name])
    return model
