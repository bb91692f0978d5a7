# SPDX-License-Identifier: Apache-2.0
"""What public functions are given: functions, paths and files, looked at before anything is done with them."""
import inspect
import os


def function_of(who, f, what="a function"):
    """f, which `who` calls: TypeError if that cannot be."""
    if not callable(f):
        raise TypeError(f"{who}: expected {what}, got {type(f).__name__}")
    return f


def path_of(who, path, what):
    """path, or TypeError: `who` says `what` it is a path of."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{who}: expected {what}, got {type(path).__name__}")
    return path


def file_of(who, f, how, method):
    """f, a path or a file opened for `how`, which has this method; or TypeError."""
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, method):
        raise TypeError(f"{who}: expected a path, or a binary file opened for {how}, got {type(f).__name__}")
    return f


def without_body(f):
    """Why calling f does not run a body of statements; None: it does."""
    name = getattr(f, "__qualname__", type(f).__name__)
    if inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
        return f"{name} is an `async def` function, whose call runs none of it"
    return None
