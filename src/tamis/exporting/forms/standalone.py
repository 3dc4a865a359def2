"""Functions of an exported Python file. The file holds the constants of a model, the functions of
dates, and the text of this module below the line of dashes, which uses nothing but Python.

The constants here are placeholders; their names are part of the exported file.
"""

import math
import re
import unicodedata

from tamis.data.columns.date_parts import date_entries, read_date

CLASSES: list = []  # of two classes a positive score means the second; empty: numbers
LABELS = False  # whether a row may have several of the classes
LINK = "identity"  # or logistic, one-vs-rest, softmax, log
LARGEST_SCORE = 0.0  # for the link log: a larger score counts as this
LINES: list = []  # slope and offset of each score in its probability, unless 1 and 0
INTERCEPTS: list = [0.0]
WEIGHTS: dict = {}  # column: its weight in each score
N_FEATURES = 0  # length of a row that is a sequence
KIND = "fields"  # of a mapping: fields, hashed names, or hashed numbers of columns
NUMBERS: dict = {}  # field: column of its value
WORDS: dict = {}  # field: {word: column}
UNITS: dict = {}  # field: centre and divisor of its number
FLAGS: list = []  # fields that are true or false
COMMAS: list = []  # fields whose numbers are written as 1.234,5
RESTS: dict = {}  # field: column of all other words
HASHED: list = []  # fields whose words are hashed
GAPS: dict = {}  # field: column of a missing value, -1 for none; other fields may not be missing
FILLS: dict = {}  # field: replacement of a missing value
MISSING: list = []  # words that are gaps, in lower case
DATES: dict = {}  # field: format of its dates, their span, and columns of their parts
TEXTS: dict = {}  # field: how a text becomes columns
KEYS: dict = {}  # for records with arbitrary keys: columns of keys, and of keys with words
SEPARATOR = ""  # between a key and its word
BITS, FIRST, BASE = 0, 0, 0  # of hashes, first hashed column, first number of a column

# ------------------------------------------------------------------------------------------------
SEED, PRIME, MASK_64 = 0xCBF29CE484222325, 0x100000001B3, 0xFFFFFFFFFFFFFFFF
LARGEST = 1e50


def score(row):
    """Return the score or scores of a row: a mapping, a sequence of all columns, or a text."""
    scores = list(INTERCEPTS)
    for column, value in _row_entries(row):
        for output, weight in enumerate(WEIGHTS.get(column, ())):
            scores[output] += weight * value
    return scores[0] if len(scores) == 1 and not LABELS else scores


def predict(row):
    """Return the class of a row, 0 or 1 for each label, or the predicted number."""
    scores = score(row)
    if not CLASSES:
        if LINK != "log":
            return scores
        return [_mean(value) for value in scores] if isinstance(scores, list) else _mean(scores)
    if LABELS:
        return [int(value > 0) for value in scores]
    if len(CLASSES) == 2:
        return CLASSES[int(scores > 0)]
    return CLASSES[scores.index(max(scores))]


def predict_proba(row):
    """Return the probabilities of the classes, in their order."""
    if LINK in ("identity", "log"):
        raise ValueError("this model gives no probabilities")
    scores = score(row)
    scores = scores if isinstance(scores, list) else [scores]
    if LINES:
        scores = [LINES[k][0] * value + LINES[k][1] for k, value in enumerate(scores)]
    if LINK == "softmax":
        largest = max(scores)
        exponentials = [math.exp(value - largest) for value in scores]
        return [exponential / sum(exponentials) for exponential in exponentials]
    probabilities = [0.5 * (1.0 + math.tanh(0.5 * value)) for value in scores]
    if LABELS:
        return probabilities
    if len(CLASSES) == 2:
        return [0.5 * (1.0 - math.tanh(0.5 * scores[0])), probabilities[0]]
    total = sum(probabilities)
    return [p / total if total > 0 else 1.0 / len(probabilities) for p in probabilities]


def _mean(score):
    """Return the predicted mean at a score."""
    return math.exp(min(score, LARGEST_SCORE))


def _row_entries(row):
    """Return columns and values of a row."""
    if isinstance(row, str):
        return _text_columns("text", row)
    if not hasattr(row, "keys"):
        return _sequence_entries(row)
    if KIND == "names":
        return ((_bucket(name), float(row[name])) for name in row)
    if KIND == "numbers":
        mask = (1 << BITS) - 1
        return ((_mix_bits(int(name) - BASE) & mask, float(row[name])) for name in row)
    return _key_entries(row) if SEPARATOR else _field_entries(row)


def _sequence_entries(row):
    """Yield columns and values of a sequence of all columns."""
    if len(row) != N_FEATURES:
        raise ValueError(f"a row has {N_FEATURES} columns, but this one has {len(row)}")
    fills = {NUMBERS[name]: fill for name, fill in FILLS.items() if name in NUMBERS}
    for column in WEIGHTS:
        value = row[column]
        if _is_gap(value):
            value = fills.get(column, math.nan)
        value = float(value)
        if not abs(value) <= LARGEST:
            raise ValueError(f"column {column} is {value}")
        yield column, value


def _key_entries(row):
    """Yield columns and values of a mapping from keys to numbers, words, or several words."""
    for key in row:
        value = row[key]
        if isinstance(value, (list, tuple, set)):
            yield from ((KEYS.get(f"{key}{SEPARATOR}{word}", -1), 1.0) for word in value)
        elif isinstance(value, str):
            yield KEYS.get(f"{key}{SEPARATOR}{value}", -1), 1.0
        elif key in KEYS:
            yield KEYS[key], float(value)


def _field_entries(row):
    """Yield columns and values of a mapping from fields to values; absent fields add nothing."""
    row = {str(name): row[name] for name in row}  # columns of a file may have numbers as names
    for name in {**NUMBERS, **WORDS, **dict.fromkeys([*HASHED, *DATES, *TEXTS, *GAPS])}:
        if name not in row:
            continue
        value = row[name]
        is_missing = _is_gap(value) or str(value).lower() in MISSING
        if is_missing and name in FILLS:
            value, is_missing = FILLS[name], False
        if is_missing:
            if name not in GAPS:
                raise ValueError(f"the field {name!r} is missing, and the model knows no gaps")
            yield GAPS[name], 1.0
        elif name in NUMBERS:
            yield NUMBERS[name], _number(name, value)
        elif name in HASHED:
            word = _hash_word(_level(_word(value)), SEED ^ _hash_word(name)) & ((1 << BITS) - 1)
            yield FIRST + word, 1.0
        elif name in DATES:
            yield from _date_columns(name, _word(value))
        elif name in TEXTS:
            yield from _text_columns(name, _word(value))
        else:
            yield WORDS.get(name, {}).get(_word(value), RESTS.get(name, -1)), 1.0


def _is_gap(value):
    """Return whether a value is missing: None, nan, or NA of pandas."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _word(value):
    """Return a value as a word; integers have no point, durations are seconds."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    value = _seconds(value)
    is_decimal = hasattr(value, "is_nan")
    if is_decimal and type(value)(repr(float(value))) == value:
        value = float(value)
    is_float = type(value).__name__.startswith("float") or is_decimal
    if is_float and abs(value) < 1e16 and value == int(value):
        return str(int(value))
    return str(value)


def _seconds(value):
    """Return a duration in seconds; other values unchanged."""
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    if type(value).__name__ == "timedelta64":
        return float(value / type(value)(1, "s"))
    return value


def _level(word):
    """Return the level of a word: 10115.0 is 10115, True and TRUE are true."""
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.0)?", word):
        level = word.removesuffix(".0")
        return "0" if level == "-0" else level
    lower_case = word.lower()
    is_boolean = lower_case in ("true", "false")
    is_boolean = is_boolean and word in (lower_case, lower_case.upper(), lower_case.title())
    return lower_case if is_boolean else word


def _number(name, value):
    """Return the number of a field, standardized; 1 or 0 for a flag."""
    if name in FLAGS:
        value = {"true": 1.0, "false": 0.0}.get(str(value).lower().strip(), value)
    if name in COMMAS and isinstance(value, str):
        value = value.replace(".", "").replace(",", ".")
    value = _seconds(value)
    centre, spread = UNITS.get(name, (0.0, 1.0))
    number = (float(value) - centre) / spread
    if not abs(number) <= LARGEST:
        raise ValueError(f"{value!r} of the field {name!r} is no number that a model takes")
    return number


def _date_columns(name, word):
    """Return columns and values of a date; the trend uses universal time."""
    encoding = DATES[name]
    date = read_date(word, encoding["ways"])
    if date is None:
        raise ValueError(f"{word!r} of the field {name!r} is no date as those of the model were")
    return date_entries(date, encoding["first"], encoding["last"], encoding["parts"])


def _mix_bits(word):
    """Return a 64-bit integer with mixed bits."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK_64
    return word ^ (word >> 31)


def _hash_word(text, seed=SEED):
    """Return the hash of a word (FNV-1a, mixed); never 0."""
    for byte in text.encode():
        seed = ((seed ^ byte) * PRIME) & MASK_64
    return _mix_bits(seed) or 1


def _bucket(name):
    """Return the column of a hashed name; a namespace ends with a caret."""
    space, caret, word = name.partition("^")
    seed, word = (_hash_word(space) if space else SEED, word) if caret else (SEED, name)
    return _mix_bits(_hash_word(word) ^ seed) & ((1 << BITS) - 1)


def _text_columns(name, text):
    """Return columns and values of a text, as its vectoriser does."""
    settings = TEXTS[name]
    counts: dict = {}
    for token in _tokens(text, settings):
        column, sign = _column_and_sign(token, settings)
        if column >= 0:
            counts[column] = counts.get(column, 0.0) + sign
    factors = settings["factors"]
    for column, count in counts.items():
        count = 1.0 if settings["binary"] else count
        count = 1.0 + math.log(count) if settings["sublinear"] else count
        counts[column] = count * factors[column] if factors else count
    length = 1.0
    if settings["norm"] == "l2":
        length = math.sqrt(sum(value * value for value in counts.values()))
    elif settings["norm"] == "l1":
        length = sum(abs(value) for value in counts.values())
    return ((column, value / (length or 1.0)) for column, value in counts.items())


def _column_and_sign(token, settings):
    """Return the column of a token, -1 for none, and its sign."""
    hashing = settings["hashing"]
    if not hashing:
        return settings["words"].get(token, -1), 1.0
    if hashing["kind"] == "fnv":
        bucket = _hash_word(token, hashing["seed"]) & ((1 << hashing["bits"]) - 1)
        return hashing["first"] + bucket, 1.0
    hashed = _murmur(token.encode())
    hashed -= (hashed >> 31) << 32  # signed
    sign = -1.0 if hashing["signed"] and hashed < 0 else 1.0
    return hashing["first"] + abs(hashed) % hashing["size"], sign


def _murmur(key):
    """Return the 32-bit MurmurHash3 of bytes."""

    def scramble(word):
        word = (word * 0xCC9E2D51) & 0xFFFFFFFF
        word = ((word << 15) | (word >> 17)) & 0xFFFFFFFF
        return (word * 0x1B873593) & 0xFFFFFFFF

    state, end = 0, len(key) // 4 * 4
    for start in range(0, end, 4):
        state ^= scramble(int.from_bytes(key[start : start + 4], "little"))
        state = ((state << 13) | (state >> 19)) & 0xFFFFFFFF
        state = (state * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= scramble(int.from_bytes(key[end:], "little")) ^ len(key)
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return state ^ (state >> 16)


def _tokens(text, settings):
    """Return the words or n-grams of a text."""
    text = text.lower() if settings["lowercase"] else text
    if settings["accents"]:
        text = unicodedata.normalize("NFKD", text)
        if settings["accents"] == "ascii":
            text = text.encode("ASCII", "ignore").decode("ASCII")
        text = "".join(letter for letter in text if not unicodedata.combining(letter))
    min_n, max_n = settings["ngrams"]
    if settings["analyzer"] == "word":
        words = [
            w for w in re.findall(settings["pattern"], text) if w not in settings["stop_words"]
        ]
        spans = range(min_n, max_n + 1)
        return [" ".join(words[k : k + n]) for n in spans for k in range(len(words) - n + 1)]
    text = re.sub(r"\s\s+", " ", text)
    if settings["analyzer"] == "char":
        spans = range(min_n, max_n + 1)
        return [text[k : k + n] for n in spans for k in range(len(text) - n + 1)]
    tokens = []
    for word in text.split():
        word = f" {word} "
        for n in range(min_n, max_n + 1):
            tokens += [word[k : k + n] for k in range(max(len(word) - n, 0) + 1)]
            if n >= len(word):  # a short word counts once
                break
    return tokens
