/* One instruction set as a separate module: a table of functions in a capsule. Each translation unit defines HDPKIT_ISA
   (its name, a string) and HDPKIT_ISA_INIT (its PyInit function) and includes this header. The standard library is not
   used: an inline function of it, compiled for one instruction set, could be linked into code for another. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cell_sweep.h"
#include "bursty_documents.h"
#include "topic_blocks.h"
#include "sparse_topics.h"
#include "topic_sweep.h"
#include "bursty_sweep.h"
#include "bursty_blocks.h"

static const hdpkit_topic_functions functions = {
    HDPKIT_ISA, sweep_of<RestaurantRoot, Dirichlet>(), sweep_of<WeightedRoot, Dirichlet>(),
    sweep_of<WeightedCounts, Dirichlet>(), sweep_of<RestaurantRoot, Sparse>(),
    bursty_sweep_of<RestaurantRoot>(), bursty_sweep_of<WeightedRoot>(), bursty_sweep_of<WeightedCounts>(),
    blocks_start, blocks_fill, blocks_recount, blocks_bounds, resample_dish, scan_units,
    bursty_blocks_start, bursty_resample_dish,
};

static const hdpkit_document_functions documents = {
    Documents<float, false>::run<false>, Documents<Exact, SCRIPTS>::run<false>,
    Documents<float, false>::run<true>, Documents<Exact, SCRIPTS>::run<true>,
    Bursts<float, false>::run, Bursts<Exact, SCRIPTS>::run,
    smooth_of<float>, smooth_of<Exact>, draw_topics,
};

static const hdpkit_cells_functions cells = {Cells<float, false>::run, Cells<Exact, SCRIPTS>::run, binomials_of, spreads_of};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "isa", "Fused sweeps compiled for one instruction set.", -1, 0, 0, 0, 0, 0,
};

extern "C" PyMODINIT_FUNC HDPKIT_ISA_INIT(void) {
    PyObject *self = PyModule_Create(&module);
    if (self == 0) return 0;
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(self, Py_MOD_GIL_NOT_USED);  // nothing here changes after the import
#endif
    PyObject *capsule = PyCapsule_New((void *)&functions, HDPKIT_TOPIC_CAPSULE, 0);
    if (capsule == 0 || PyModule_AddObject(self, "topics", capsule) < 0) {
        Py_XDECREF(capsule);
        Py_DECREF(self);
        return 0;
    }
    capsule = PyCapsule_New((void *)&documents, HDPKIT_DOCUMENT_CAPSULE, 0);
    if (capsule == 0 || PyModule_AddObject(self, "documents", capsule) < 0) {
        Py_XDECREF(capsule);
        Py_DECREF(self);
        return 0;
    }
    capsule = PyCapsule_New((void *)&cells, HDPKIT_CELLS_CAPSULE, 0);
    if (capsule == 0 || PyModule_AddObject(self, "cells", capsule) < 0) {
        Py_XDECREF(capsule);
        Py_DECREF(self);
        return 0;
    }
    return self;
}
