/* A measure that asks Python before every call: what a compiled measure that uses Python looks like to a sweep. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "hdpkit/measure.h"

typedef struct {
    hdpkit_measure measure;
    hdpkit_measure *inner;
    PyObject *capsule; /* owns inner */
    PyObject *hook;    /* called with the name of the function; what it raises is the answer */
} Hooked;

static int asked(Hooked *h, const char *name) {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *answer = PyObject_CallFunction(h->hook, "s", name);
    int failed = answer == NULL;
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    return failed ? -1 : 0;
}

static int born(void *self, int32_t slot) {
    Hooked *h = self;
    return asked(h, "born") < 0 ? -1 : h->inner->born(h->inner->self, slot);
}
static int died(void *self, int32_t slot) {
    Hooked *h = self;
    return h->inner->died(h->inner->self, slot);
}
static int add(void *self, int32_t slot, const int32_t *customers, int64_t n) {
    Hooked *h = self;
    return asked(h, "add") < 0 ? -1 : h->inner->add(h->inner->self, slot, customers, n);
}
static int take(void *self, int32_t slot, const int32_t *customers, int64_t n) {
    Hooked *h = self;
    return asked(h, "remove") < 0 ? -1 : h->inner->remove(h->inner->self, slot, customers, n);
}
static int move(void *self, int32_t from, int32_t to) {
    Hooked *h = self;
    return h->inner->move(h->inner->self, from, to);
}
static int predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) {
    Hooked *h = self;
    return asked(h, "predictive") < 0 ? -1 : h->inner->predictive(h->inner->self, customer, slots, n, out);
}
static int log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                     double *out) {
    Hooked *h = self;
    if (asked(h, "log_block") < 0) return -1;
    return h->inner->log_block(h->inner->self, customers, n_customers, slots, n, out);
}

static void destroy(PyObject *capsule) {
    Hooked *h = ((hdpkit_measure *)PyCapsule_GetPointer(capsule, HDPKIT_MEASURE_CAPSULE))->self;
    Py_DECREF(h->capsule);
    Py_DECREF(h->hook);
    free(h);
}

static PyObject *wrap(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule, *hook;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &hook)) return NULL;
    Hooked *h = calloc(1, sizeof(Hooked));
    h->inner = PyCapsule_GetPointer(capsule, HDPKIT_MEASURE_CAPSULE);
    h->capsule = Py_NewRef(capsule);
    h->hook = Py_NewRef(hook);
    h->measure = (hdpkit_measure){.version = HDPKIT_MEASURE_VERSION, .size = sizeof(hdpkit_measure), .self = h,
                                  .born = born, .died = died, .add = add, .remove = take, .move = move,
                                  .predictive = predictive, .log_block = log_block};
    return PyCapsule_New(&h->measure, HDPKIT_MEASURE_CAPSULE, destroy);
}

static PyMethodDef methods[] = {{"wrap", wrap, METH_VARARGS, "wrap(capsule, hook) -> capsule"}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_hooked", .m_doc = "For tests.", .m_methods = methods};
PyMODINIT_FUNC PyInit__hooked(void) { return PyModule_Create(&definition); }
