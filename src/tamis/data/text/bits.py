"""Operations on 64-bit words that NumPy lacks, as Python functions and as LLVM instructions.

The parser of decimal numbers (`numbers.py`) needs them.
"""

import numpy as np

from tamis.numerics.numba import intrinsic, ir, numba_types, overload

_WORD = numba_types.uint64


def multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of the product of two words."""
    return np.uint64((int(a) * int(b)) >> 64)


def leading_zeros(a: np.uint64) -> np.uint64:
    """Return the number of zero bits above the highest set bit."""
    return np.uint64(64 - int(a).bit_length())


def trailing_zeros(a: np.uint64) -> np.uint64:
    """Return the number of zero bits below the lowest set bit; 64 for 0."""
    return np.uint64((int(a) & -int(a)).bit_length() - 1 if a else 64)


def word_at(text: np.ndarray, pos: np.uint64) -> np.uint64:
    """Return the eight bytes of a text from `pos` on as a little-endian word."""
    return np.uint64(int.from_bytes(bytes(text[int(pos) : int(pos) + 8]), "little"))


def float_of_bits(a: np.uint64) -> np.float64:
    """Return the float64 with the bits of a word."""
    return np.uint64(a).view(np.float64)


@intrinsic
def _multiply_high(context, a, b):
    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        left, right = (builder.zext(word, wide) for word in arguments)
        return builder.trunc(builder.lshr(builder.mul(left, right), wide(64)), ir.IntType(64))

    return _WORD(_WORD, _WORD), generate


@intrinsic
def _leading_zeros(context, a):
    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.IntType(1)(0))

    return _WORD(_WORD), generate


@intrinsic
def _trailing_zeros(context, a):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return _WORD(_WORD), generate


@intrinsic
def _word_at(context, text, pos):
    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(view.data, [arguments[1]])
        # A load that need not be aligned.
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return _WORD(text, _WORD), generate


@intrinsic
def _float_of_bits(context, a):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba_types.float64(_WORD), generate


def _register_overloads():
    """Register the intrinsics as the compiled forms of the Python functions."""
    overload(multiply_high)(lambda a, b: lambda a, b: _multiply_high(a, b))
    overload(leading_zeros)(lambda a: lambda a: _leading_zeros(a))
    overload(trailing_zeros)(lambda a: lambda a: _trailing_zeros(a))
    overload(word_at)(lambda text, pos: lambda text, pos: _word_at(text, pos))
    overload(float_of_bits)(lambda a: lambda a: _float_of_bits(a))


_register_overloads()
