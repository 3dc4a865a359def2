"""Save and load fitted models without pickle: the file has a readable header and runs no code.

container.py  the file format: first lines, header, checksum
classes.py    the classes that a file may name
blocks.py     arrays as blocks of bytes
encode.py     values to JSON and blocks
decode.py     JSON and blocks to values
"""

import os
import struct
from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator

from tamis.data.tables.frames import Reading
from tamis.model_files import classes
from tamis.model_files.blocks import Blocks
from tamis.model_files.container import (
    RESAVE_ADVICE,
    ModelFileError,
    is_model_file,
    read_header,
    write_file,
)
from tamis.model_files.decode import Decoder
from tamis.model_files.encode import Encoder
from tamis.system.files import StrPath, get_sources, record_sources, refuse_overwriting
from tamis.system.schema import ContentsError, build_object
from tamis.system.threads import locked

__all__ = ["ModelFileError", "load", "save"]

# Exceptions of Python and NumPy for an inconsistent header.
_HEADER_ERRORS = (
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
    the class, its parameters and the versions it was fitted with), followed by the arrays as plain
    bytes and a checksum of the whole file. It holds no time, host, user or path: the same model
    gives the same bytes. Of arrays that are mostly zero only the nonzero rows are stored, so that a
    model of 10\ :sup:`8` features and a few hundred active ones is a small file.

    Choose it to deploy a model, to store it for years, or to load one from somebody else. Choose
    pickle or joblib for pipelines that mix estimators of tamis with those of other libraries.

    Parameters
    ----------
    model : estimator
        A public estimator of tamis, fitted or not. Parameters and attributes may hold None, bool,
        numbers, str, bytes, NumPy scalars and arrays, CSR and CSC matrices, lists, tuples, dicts,
        terms, random generators (PCG64 or MT19937) and other estimators of tamis.
    path : str or os.PathLike
        File to write. It is replaced in one step after it is complete and on disk; until then, and
        if saving fails, an older file of that name does not change.

    Raises
    ------
    TypeError
        If an attribute holds a value of another type; the message names it.
    ValueError
        If the file would replace one that the model was trained from in this process.
    OSError
        If the folder does not exist, is full or may not be written to.

    See Also
    --------
    load : Read the file back.

    Notes
    -----
    Loaded arrays have the machine's byte order and C order (Fortran order where they had it), and
    attributes that shared memory no longer do. Of a random generator the file holds the state, not
    the seed sequence that ``spawn`` uses.

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
    # A model may replace the model file that it was loaded from.
    refuse_overwriting(name, get_sources(model), may_replace=is_model_file)
    encoder = Encoder()
    encoded_model = encoder.model(model, type(model).__name__)
    for values in (encoded_model["parameters"], encoded_model["attributes"]):
        values |= {name: encoder.move_long_value(value) for name, value in values.items()}
    table, offset = [], 0
    for block in encoder.blocks:
        table.append(block.table_entry(offset))
        offset += block.length
    n_features = vars(model).get("n_features_in_")
    header = {
        "class": encoded_model["class"],
        "versions": classes.versions(),
        "features": None if n_features is None else int(n_features),
        "parameters": encoded_model["parameters"],
        "attributes": encoded_model["attributes"],
        "blocks": table,
    }
    write_file(name, header, encoder.blocks)


def load(path: StrPath, *, terms: Iterable[type] = ()) -> Any:
    """Load a model that `save` wrote.

    Nothing in the file is executed or imported: classes are looked up by name among the public
    estimators and terms of tamis. The checksum is verified before anything else is read. Parameters
    that the file lacks get their defaults.

    Parameters
    ----------
    path : str or os.PathLike
        A file written by `save`.
    terms : iterable of classes, default=()
        The classes of user-defined terms, if the model was fitted with any: ``terms=[MyLoss]``. A
        class whose code changed since then raises an error, since it would give other predictions
        under the same name.

    Returns
    -------
    model : estimator
        The saved model: its predictions are the same, and `partial_fit` continues from the same
        state, to the bit.

    Raises
    ------
    ModelFileError
        If the file is no model of tamis, is cut short or damaged, has another format, names an
        unknown class or term, or contradicts itself. It is a ValueError.

    See Also
    --------
    save : Write the file.

    Notes
    -----
    The checksum detects accidents, not malice: the author of a forged file can compute it. A forged
    file runs no code: every attribute is compared with the declaration of its class (dtype, shape,
    range), and the parameters with scikit-learn's rules, before any array is read. A file that
    contradicts itself takes no memory; a consistent one may still hold wrong numbers, like any
    model from an untrusted source.

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
    term_classes = classes.user_terms(terms)
    if os.path.exists(name) and not os.path.isfile(
        name
    ):  # opening a FIFO would wait for its writer
        raise ModelFileError(f"{name}: this is no regular file. Write the model to one.")
    with open(name, "rb") as file:
        try:
            header, start, end = read_header(file)
            blocks = Blocks(file, header.get("blocks"), start, end)
            model = build_object(Decoder(blocks, term_classes, header["versions"]).model(header))
            blocks.check_all_read()
        except ModelFileError as error:
            raise ModelFileError(f"{name}: {error}") from None
        except ContentsError as error:
            raise ModelFileError(f"{name}: {error}. {RESAVE_ADVICE}") from None
        except MemoryError as error:
            raise ModelFileError(
                f"{name}: its arrays do not fit into this machine's memory ({error}). Load it on a "
                "larger one."
            ) from error
        except _HEADER_ERRORS as error:
            raise ModelFileError(
                f"{name}: the header is inconsistent ({type(error).__name__}: {str(error)[:200]}). "
                f"{RESAVE_ADVICE}"
            ) from error
    if isinstance(reading := vars(model).get("reading_"), dict):
        model.reading_ = Reading(reading)  # describes how to read frames
    record_sources(model, [name])
    return model
