/* Counts of colours in urns, colour by colour: a sweep asks for one colour in many urns. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdpkit/measure.h"

typedef struct {
    hdpkit_measure measure; /* what the capsule points to; its `self` is this whole struct */
    Py_buffer values;       /* one colour a customer */
    int32_t n_colours;
    int64_t stride;  /* urns that a row has room for */
    int32_t *counts; /* n_colours rows of stride */
    int64_t *totals; /* of each urn */
    double a;
} Urns;

static int32_t colour_of(const Urns *u, int32_t customer) { return ((const int32_t *)u->values.buf)[customer]; }

static int grow(Urns *u, int64_t slots) {
    int64_t stride = u->stride ? u->stride : 16;
    while (stride < slots) stride *= 2;
    if (stride == u->stride) return 0;
    int32_t *counts = calloc((size_t)(u->n_colours * stride), sizeof(int32_t));
    int64_t *totals = calloc((size_t)stride, sizeof(int64_t));
    if (counts == NULL || totals == NULL) {
        free(counts);
        free(totals);
        return -1;
    }
    for (int64_t v = 0; v < u->n_colours && u->stride; v++)
        memcpy(counts + v * stride, u->counts + v * u->stride, (size_t)u->stride * sizeof(int32_t));
    if (u->stride) memcpy(totals, u->totals, (size_t)u->stride * sizeof(int64_t));
    free(u->counts);
    free(u->totals);
    u->counts = counts;
    u->totals = totals;
    u->stride = stride;
    return 0;
}

static int empty(void *self, int32_t slot) {
    Urns *u = self;
    if (slot >= u->stride) return 0;
    if (u->totals[slot])
        for (int64_t v = 0; v < u->n_colours; v++) u->counts[v * u->stride + slot] = 0;
    u->totals[slot] = 0;
    return 0;
}

static int born(void *self, int32_t slot) { return grow(self, (int64_t)slot + 1) < 0 ? -1 : empty(self, slot); }

static int change(Urns *u, int32_t slot, const int32_t *customers, int64_t n, int32_t by) {
    for (int64_t i = 0; i < n; i++) u->counts[colour_of(u, customers[i]) * u->stride + slot] += by;
    u->totals[slot] += by * n;
    return 0;
}

static int add(void *self, int32_t slot, const int32_t *customers, int64_t n) {
    return change(self, slot, customers, n, 1);
}

static int take(void *self, int32_t slot, const int32_t *customers, int64_t n) {
    return change(self, slot, customers, n, -1);
}

static int move(void *self, int32_t from, int32_t to) {
    Urns *u = self;
    for (int64_t v = 0; v < u->n_colours; v++) {
        u->counts[v * u->stride + to] = u->counts[v * u->stride + from];
        u->counts[v * u->stride + from] = 0;
    }
    u->totals[to] = u->totals[from];
    u->totals[from] = 0;
    return 0;
}

static int predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) {
    const Urns *u = self;
    const int32_t *row = u->counts + colour_of(u, customer) * u->stride;
    const double all = u->a * u->n_colours;
    for (int64_t i = 0; i < n; i++) out[i] = (row[slots[i]] + u->a) / (u->totals[slots[i]] + all);
    out[n] = u->a / all;
    return 0;
}

static int log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                     double *out) {
    const Urns *u = self;
    const double all = u->a * u->n_colours;
    for (int64_t k = 0; k <= n; k++) {
        out[k] = 0.0;
        for (int64_t i = 0; i < n_customers; i++) {
            const int32_t colour = colour_of(u, customers[i]);
            double count = k < n ? u->counts[colour * u->stride + slots[k]] : 0;
            for (int64_t j = 0; j < i; j++) count += colour_of(u, customers[j]) == colour;
            out[k] += log((count + u->a) / ((k < n ? u->totals[slots[k]] : 0) + i + all));
        }
    }
    return 0;
}

static int marginal(void *self, int32_t slot, double *out) {
    const Urns *u = self;
    const double all = u->a * u->n_colours;
    *out = lgamma(all) - lgamma(all + u->totals[slot]);
    for (int64_t v = 0; v < u->n_colours; v++)
        if (u->counts[v * u->stride + slot]) *out += lgamma(u->counts[v * u->stride + slot] + u->a) - lgamma(u->a);
    return 0;
}

static void destroy(PyObject *capsule) {
    hdpkit_measure *measure = PyCapsule_GetPointer(capsule, HDPKIT_MEASURE_CAPSULE);
    if (measure == NULL) return;
    Urns *u = measure->self;
    PyBuffer_Release(&u->values);
    free(u->counts);
    free(u->totals);
    free(u);
}

static PyObject *make(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer values;
    int n_colours;
    double a;
    if (!PyArg_ParseTuple(args, "y*id", &values, &n_colours, &a)) return NULL;
    Urns *u = calloc(1, sizeof(Urns));
    if (u == NULL) {
        PyBuffer_Release(&values);
        return PyErr_NoMemory();
    }
    u->values = values;
    u->n_colours = n_colours;
    u->a = a;
    u->measure = (hdpkit_measure){
        .version = HDPKIT_MEASURE_VERSION,
        .size = sizeof(hdpkit_measure),
        .self = u,
        .born = born,
        .died = empty,
        .add = add,
        .remove = take,
        .move = move,
        .predictive = predictive,
        .log_block = log_block,
        .marginal = marginal,
    };
    PyObject *capsule = PyCapsule_New(&u->measure, HDPKIT_MEASURE_CAPSULE, destroy);
    if (capsule == NULL) {
        PyBuffer_Release(&u->values);
        free(u);
    }
    return capsule;
}

static PyMethodDef methods[] = {
    {"make", make, METH_VARARGS, "make(values, n_colours, a) -> capsule; values is an int32 buffer"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_urn", .m_doc = "Urns for hdpkit.", .m_methods = methods};

PyMODINIT_FUNC PyInit__urn(void) { return PyModule_Create(&definition); }
