/* A pool of C functions, one for each regular elementwise function: slot k calls operation tf_op1[k] or tf_op2[k]. A
 * function of its own costs no more than an operator, and is a module's function to pickle, help() and repr(). */
#ifndef TENFERRO_CALLABLES_H
#define TENFERRO_CALLABLES_H

#include <Python.h>

static PyObject *tf_call1(int op, PyObject *x);                  /* defined in callables.pyx */
static PyObject *tf_call2(int op, PyObject *x, PyObject *y);

enum { TF_SLOTS = 90 };
static int tf_op1[TF_SLOTS], tf_op2[TF_SLOTS];
static PyMethodDef tf_def1[TF_SLOTS], tf_def2[TF_SLOTS];

static PyObject *tf_wrong_count(const char *name, Py_ssize_t n) {
    return PyErr_Format(PyExc_TypeError, "%s takes 2 operands (%zd given)", name, n);
}

#define TF_SLOT(k)                                                                                          \
    static PyObject *tf_unary_##k(PyObject *self, PyObject *x) {                                            \
        (void)self;                                                                                         \
        return tf_call1(tf_op1[k - 10], x);                                                                 \
    }                                                                                                       \
    static PyObject *tf_binary_##k(PyObject *self, PyObject *const *args, Py_ssize_t n) {                   \
        (void)self;                                                                                         \
        if (n != 2)                                                                                         \
            return tf_wrong_count(tf_def2[k - 10].ml_name, n);                                              \
        return tf_call2(tf_op2[k - 10], args[0], args[1]);                                                  \
    }
#define TF_TEN(M, d) M(d##0) M(d##1) M(d##2) M(d##3) M(d##4) M(d##5) M(d##6) M(d##7) M(d##8) M(d##9)
#define TF_ALL_SLOTS(M)                                                                                     \
    TF_TEN(M, 1) TF_TEN(M, 2) TF_TEN(M, 3) TF_TEN(M, 4) TF_TEN(M, 5) TF_TEN(M, 6) TF_TEN(M, 7) TF_TEN(M, 8) TF_TEN(M, 9)

TF_ALL_SLOTS(TF_SLOT)

#define TF_UNARY_NAME(k) tf_unary_##k,
#define TF_BINARY_NAME(k) tf_binary_##k,
static const PyCFunction tf_unary[TF_SLOTS] = {TF_ALL_SLOTS(TF_UNARY_NAME)};
static PyObject *(*const tf_binary[TF_SLOTS])(PyObject *, PyObject *const *, Py_ssize_t) = {
    TF_ALL_SLOTS(TF_BINARY_NAME)};

/* The function in one slot; name and doc must live as long as the process. */
static PyObject *tf_function(int n_in, int slot, int op, const char *name, const char *doc, PyObject *module) {
    PyMethodDef *const def = n_in == 1 ? &tf_def1[slot] : &tf_def2[slot];
    PyObject *home = PyUnicode_FromString("tenferro"), *f;
    if (home == NULL) return NULL;
    (n_in == 1 ? tf_op1 : tf_op2)[slot] = op;
    def->ml_name = name;
    def->ml_meth = n_in == 1 ? tf_unary[slot] : (PyCFunction)(void (*)(void))tf_binary[slot];
    def->ml_flags = n_in == 1 ? METH_O : METH_FASTCALL;
    def->ml_doc = doc;
    f = PyCFunction_NewEx(def, module, home);
    Py_DECREF(home);
    return f;
}

#endif
