# distutils: language = c++
"""Where compiled objects ask whether they may answer: while another thread has the lock, they don't.

Every public attribute of a `Guarded` object is read with the lock, and every method called from Python has the
lock until it returns. Calls within compiled code go through C functions and pass none of this. Functions of a
module that use such an object have the decorator `guarded`.

Here too, errors that C raises for an argument become errors of hdpkit that name it.
"""

cimport cython
from cpython.method cimport PyMethod_Check, PyMethod_GET_FUNCTION, PyMethod_GET_SELF
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_READ_CHAR

import inspect

from hdpkit._franchise_lock cimport Hold, FranchiseLock, locked
from hdpkit.errors import ParameterError

cdef object LARGEST = 2**31 - 1     # that any C number of an argument holds
cdef tuple UNTYPED = (AttributeError, IndexError, KeyError, NotImplementedError, OverflowError)


cdef extern from "Python.h":
    ctypedef object (*vectorcallfunc)(object, PyObject *const *, size_t, PyObject *)
    ctypedef object (*ternaryfunc)(object, object, object)
    ctypedef struct PyTypeObject:
        Py_ssize_t tp_dictoffset
        Py_ssize_t tp_vectorcall_offset
        ternaryfunc tp_call
        unsigned long tp_flags
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    unsigned long Py_TPFLAGS_METHOD_DESCRIPTOR
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyTypeObject *Py_TYPE(object)
    bint PyType_HasFeature(PyTypeObject *, unsigned long)
    PyObject *_PyType_Lookup(PyTypeObject *, object)
    object PyMethod_New(object, object)
    object PyObject_GenericGetAttr(object, object)
    int PyObject_GenericSetAttr(object, object, PyObject *) except -1
    object PyObject_Vectorcall(object, PyObject *const *, size_t, PyObject *)
    object PyVectorcall_Call(object, object, object)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    void PyType_Modified(PyTypeObject *)


cdef class Guarded:
    """An object of a franchise: other threads get a BusyError while one has the franchise's lock."""

    def __getattribute__(self, str name not None):
        cdef Hold hold
        cdef PyObject *found
        if name and PyUnicode_READ_CHAR(name, 0) == u"_":
            return PyObject_GenericGetAttr(self, name)
        if Py_TYPE(self).tp_dictoffset == 0:      # only its type has attributes
            found = _PyType_Lookup(Py_TYPE(self), name)
            if found != NULL and PyType_HasFeature(Py_TYPE(<object>found), Py_TPFLAGS_METHOD_DESCRIPTOR):
                return called_for(self, <object>found)
        hold = locked(self.lock)
        value = PyObject_GenericGetAttr(self, name)
        if PyMethod_Check(value) and PyMethod_GET_SELF(value) == <PyObject *>self:
            return called_for(self, <object>PyMethod_GET_FUNCTION(value))
        return value

    def __setattr__(self, str name not None, value):
        cdef Hold hold = locked(self.lock)
        PyObject_GenericSetAttr(self, name, <PyObject *>value)

    def __delattr__(self, str name not None):
        cdef Hold hold = locked(self.lock)
        if _PyType_Lookup(Py_TYPE(self), name) != NULL:
            raise AttributeError(f"{type(self).__name__}.{name} can't be deleted")
        PyObject_GenericSetAttr(self, name, NULL)


@cython.final
@cython.freelist(16)
cdef class Call:
    """A function or a method that is called with the lock; otherwise it is what it wraps."""

    cdef vectorcallfunc vectorcall
    cdef Guarded owner        # whose method it is; None: the lock is that of the first argument that has one
    cdef object function

    def __getattribute__(self, str name not None):
        return getattr(called_as(self), name)

    def __repr__(self):
        return repr(called_as(self))


cdef object called_as(Call call):
    """The function, or the method as Python binds it."""
    return call.function if call.owner is None else PyMethod_New(call.function, call.owner)


cdef Call called_for(Guarded owner, function):
    cdef Call call = Call.__new__(Call)
    call.vectorcall = call_with_turn
    call.owner = owner
    call.function = function
    return call


def guarded(function not None):
    """Decorate a function of a module: it is called with the lock of its first argument that has one."""
    return called_for(None, function)


cdef object call_with_turn(object called, PyObject *const *arguments, size_t n, PyObject *names):
    cdef Call call = <Call>called
    cdef Py_ssize_t i, n_given = PyVectorcall_NARGS(n)
    cdef Guarded owner = call.owner
    cdef Hold hold
    if owner is None:
        for i in range(n_given + (0 if names == NULL else len(<tuple>names))):
            if isinstance(<object>arguments[i], Guarded):
                owner = <Guarded>arguments[i]
                break
    if owner is not None:
        hold = locked(owner.lock)
    try:
        if call.owner is None:
            return PyObject_Vectorcall(call.function, arguments, n, names)
        return call_method(call.function, call.owner, arguments, n, names)
    except UNTYPED as error:
        if not raised_in_compiled_code(error):
            raise
        raise typed(call, [<object>arguments[i] for i in range(n_given)], error) from error


cdef object call_method(function, Guarded owner, PyObject *const *arguments, size_t n, PyObject *names):
    """Call a function with the owner as its first argument."""
    cdef PyObject **all
    cdef PyObject *kept
    if n & PY_VECTORCALL_ARGUMENTS_OFFSET:      # there is room before the arguments
        all = <PyObject **>arguments - 1
        kept = all[0]
        all[0] = <PyObject *>owner
        try:
            return PyObject_Vectorcall(function, all, PyVectorcall_NARGS(n) + 1, names)
        finally:
            all[0] = kept
    return PyObject_Vectorcall(PyMethod_New(function, owner), arguments, n, names)


cdef bint raised_in_compiled_code(error) except -1:
    """Whether compiled code of hdpkit raised it, and no code that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return True
    frame = trace.tb_frame
    own = frame.f_globals.get("__name__", "").startswith("hdpkit.")
    return own and frame.f_code.co_filename.endswith((".pyx", ".pxd"))


cdef object typed(Call call, list given, error):
    """The error that names the function and, where it can be told, the argument that it can't use."""
    cdef object function = call.function
    cdef str name = function.__qualname__, message = f"what {name} accepts ({type(error).__name__}: {error})"
    values = dict(zip(inspect.signature(called_as(call)).parameters, given))
    if isinstance(error, OverflowError):
        suspects = [one for one in values if isinstance(values[one], int) and abs(values[one]) > LARGEST]
    elif isinstance(error, AttributeError) and error.obj is not None:
        suspects = [one for one in values if values[one] is error.obj]
    else:
        suspects = list(values)
    if len(suspects) == 1:
        return ParameterError(suspects[0], values[suspects[0]], message, "See its docstring.")
    return ParameterError(f"arguments of {name}", given, message, "See its docstring.")


cdef int make_callable() except -1:
    """Call a `Call` by vector: Cython declares no such slot."""
    cdef Call call = Call.__new__(Call)
    cdef PyTypeObject *kind = <PyTypeObject *>Call
    kind.tp_vectorcall_offset = <char *>&call.vectorcall - <char *><void *>call
    kind.tp_call = PyVectorcall_Call
    kind.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL
    PyType_Modified(kind)
    return 0


make_callable()
