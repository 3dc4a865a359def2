"""What files of earlier versions of tamis say otherwise, put in today's words."""

from collections.abc import Callable

SIEVES = ("SieveClassifier", "SieveRegressor")


def renewed(node: dict) -> dict:
    """A model of the file's JSON as this version would have written it; what the file cannot know
    is None.
    """
    change = CHANGES.get(node["class"])
    return node if change is None else change(node)


def _sieve(node: dict) -> dict:
    """The first edition of the sieve: no honest error, no spread of columns, no other sizes."""
    if "min_features" not in node["parameters"]:
        return node
    parameters = {key: part for key, part in node["parameters"].items() if key != "min_features"}
    attributes = dict(node["attributes"])
    if "_result" in attributes:
        inside = dict(attributes["_result"]["attributes"])
        path = inside.pop("path")
        inside["sizes"] = [_sizes(one) for one in path] if isinstance(path, list) else _sizes(path)
        inside |= dict.fromkeys(("error", "standard_error", "baseline_error"))
        attributes["_result"] = {**attributes["_result"], "attributes": {**inside, "trails": []}}
    return {**node, "parameters": parameters, "attributes": attributes}


def _sizes(path: dict) -> dict:
    names = {"n_features": "size"}
    items = [[names.get(key, key), value] for key, value in path["items"]]
    return {**path, "items": [*items, ["standard_error", None]]}


CHANGES: dict[str, Callable[[dict], dict]] = dict.fromkeys(SIEVES, _sieve)
