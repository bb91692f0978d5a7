# SPDX-License-Identifier: Apache-2.0
"""signature.json of an exported graph, read and looked at: what `janus.load_graph` goes by is there and fits together."""
import json
import os

FORMAT, FORMAT_OF_PARTS = 2, 3  # the second: of graphs that C programs do not read


def _whole(v):
    return type(v) is int


def _text(v):
    return type(v) is str


def _number(v):
    return type(v) in (bool, int, float) or type(v) is str and _reads_as_number(v)


def _reads_as_number(v):
    if v in ("nan", "inf", "-inf"):
        return True
    digits = v[1:] if v.startswith("-") else v
    return digits.isascii() and digits.isdigit()


def _constant(v):
    if not isinstance(v, dict) or len(v) > 1:
        return False
    return all(kind in ("bool", "int", "float", "text") and (_text(x) if kind == "text" else _number(x))
               for kind, x in v.items())


def _shape(v):
    return isinstance(v, list) and len(v) == 2 and _text(v[0]) and isinstance(v[1], list) and all(map(_whole, v[1]))


def _way(v):
    return isinstance(v, list) and all(isinstance(step, list) and len(step) == 2 and
                                       (_whole(step[1]) if step[0] == "item" else step[0] in ("attr", "key") and _text(step[1]))
                                       for step in v)


def _truth(v):
    return type(v) is bool


_PIECE = {"how": _text, "text": lambda v: v is None or _text(v), "values": lambda v: _whole(v) and 0 <= v < 2 ** 16,
          "last": _truth}


class _Reader:
    """Looks at one signature; `path` is for messages."""

    def __init__(self, path, signature):
        self.path, self.signature = path, signature

    def damaged(self, what):
        return ValueError(f"{self.path}: signature.json is damaged: {what}")

    def parts(self, name, needed, **may):
        """The dicts of a list, whose items are of the forms that are given."""
        listed = self.signature.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise self.damaged(f"\"{name}\" is no list of objects")
        for i, one in enumerate(listed):
            for key, fits in {**needed, **may}.items():
                if key not in one and key in needed:
                    raise self.damaged(f"{name}[{i}] has no \"{key}\"")
                if key in one and not fits(one[key]):
                    raise self.damaged(f"\"{key}\" of {name}[{i}] is {one[key]!r}")
        return listed

    def below(self, name):
        """Whether something is a number of an item of a list."""
        n = len(self.signature.get(name) or ())
        return lambda v: _whole(v) and 0 <= v < n

    def form(self, n_results):
        """Whether something is what is made of so many results."""
        kinds = {"result": lambda v: _whole(v) and 0 <= v < n_results, "constant": _constant,
                 "argument": self.below("arguments"), "input": self.below("inputs")}

        def fits(form):
            if not isinstance(form, list) or len(form) != 2:
                return False
            kind, what = form
            if kind in ("tuple", "list", "dict"):
                return isinstance(what, list) and all(map(fits, what)) and (kind != "dict" or len(what) % 2 == 0 and all(
                    key[0] == "constant" and _text(key[1].get("text")) for key in what[::2]))
            return type(kind) is str and kind in kinds and kinds[kind](what)

        return fits

    def prints(self):
        for i, one in enumerate(self.parts("prints", {"sep": _text, "end": _text, "flush": _truth, "file": _truth,
                                                      "pieces": lambda v: isinstance(v, list)})):
            for piece in one["pieces"]:
                if not isinstance(piece, dict) or not all(key in piece and fits(piece[key]) for key, fits in _PIECE.items()):
                    raise self.damaged(f"prints[{i}] has a piece {piece!r}")

    def types(self):
        for i, pair in enumerate(self.signature.get("of their class", [])):
            if not isinstance(pair, list) or len(pair) != 2 or not _whole(pair[0]) or not _text(pair[1]):
                raise self.damaged(f"\"of their class\"[{i}] is {pair!r}")
        return self.parts("types", {"name": _text, "token": _whole})


def read_signature(path):
    """The signature of a folder, of a form that is known, as far as the graph itself needs it."""
    place = os.path.join(path, "signature.json")
    try:
        with open(place, encoding="utf-8") as file:
            signature = json.load(file)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise type(error)(error.errno, "janus.load_graph: this is no folder that janus.export wrote", place) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: signature.json is damaged: {error}") from None
    if not isinstance(signature, dict) or type(signature.get("format")) is not int:
        raise ValueError(f"{path}: signature.json is of no known format")
    if not 1 <= signature["format"] <= FORMAT_OF_PARTS:
        raise ValueError(f"{path}: signature.json is of no known format: {signature['format']}, and this version of janus reads "
                         f"1 to {FORMAT_OF_PARTS}")
    for name in ("inputs", "arguments", "result"):
        if name not in signature:
            raise ValueError(f"{path}: signature.json is damaged: it has no \"{name}\"")
    for name in ("inputs", "arguments", "parts", "state", "attributes", "types", "of their class", "prints"):
        if not isinstance(signature.get(name, []), list):
            raise ValueError(f"{path}: signature.json is damaged: \"{name}\" is no list")
    reader = _Reader(path, signature)
    reader.types()
    reader.prints()
    for i, name in enumerate(signature.get("attributes", [])):
        if not _text(name):
            raise reader.damaged(f"attributes[{i}] is {name!r}")
    return signature


def check_signature(path, signature, names, n_results, known, weights):
    """All else: that it is of the graph with these names of parameters and so many results, of types with these numbers
    and of these weights.  ValueError says what is not."""
    reader = _Reader(path, signature)

    def a_type(v):
        return _whole(v) and v in known

    def a_weight(v):
        return _text(v) and v in weights

    for pair in signature.get("of their class", []):
        if not a_type(pair[0]):
            raise reader.damaged(f"there is no type {pair[0]}")
    reader.parts("arguments", {"keyword": lambda v: v is None or _text(v)}, **{
        "like": _shape, "object": a_type, "value": _constant, "of its class": lambda v: isinstance(v, list) and all(map(_text, v))})
    form, place = reader.form(n_results), {"argument": reader.below("arguments"), "way": _way}
    reader.parts("parts", {**place, "distinct": _truth}, type=a_type, value=_constant, length=_whole,
                 keys=lambda v: isinstance(v, list) and all(map(_text, v)))
    states = reader.parts("state", {"name": _text, "written": _truth, "value": form,
                                    "when": lambda v: v is None or _whole(v) and 0 <= v < n_results},
                          number=_number, **place)
    inputs = reader.parts("inputs", {"name": _text}, number=_number, text=_text, state=reader.below("state"), **place)
    for name, one in [("inputs", one) for one in inputs] + [("state", one) for one in states]:
        if "weight" in one and not a_weight(one["weight"]):
            raise ValueError(f"{path}: weights.safetensors has no {one['weight']}")
        if name == "inputs" and not any(key in one for key in ("weight", "number", "text", "state", "argument")):
            raise reader.damaged(f"nothing says what {one['name']} is")
    begun = [i for i, one in enumerate(states) if "weight" in one or "number" in one]
    for i, one in enumerate(states):
        there = one["written"] or one["way"] if "way" in one else not one["written"] or "weight" in one
        if not there or ("argument" in one) != ("way" in one):
            raise reader.damaged(f"nothing says where state[{i}] is")
    if any("state" in one and one["state"] not in begun for one in inputs):
        raise reader.damaged("nothing says what a state begins with")
    if not form(signature["result"]):
        raise reader.damaged("\"result\" is of no known form")
    if [one["name"] for one in inputs] != names:
        raise ValueError(f"{path}: signature.json is of another graph than graph.jir: its inputs are "
                         f"{', '.join(one['name'] for one in inputs)}, the graph's {', '.join(names)}")
