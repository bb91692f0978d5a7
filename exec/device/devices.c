/* SPDX-License-Identifier: Apache-2.0 */
/* The devices with memory of their own, by name. */
#include "config.h"

#include "exec/device/device.h"

#include <stdio.h>
#include <string.h>

/* A row: what is found when the device is first asked for stays. */
typedef struct known {
    const char *name, *title;
    jn_dev_module_fn module; /* NULL: it is a shared library of its own */
    const char *others;      /* who chooses among several */
    bool tried;
    jn_device *device;
    janus_error error; /* why there is none */
} known;

static known devices[] = {
    {.name = "cuda", .title = "CUDA", .others = "; CUDA_VISIBLE_DEVICES chooses which it is"},
    {.name = NULL}, /* of a test */
};
enum { N_DEVICES = sizeof devices / sizeof *devices };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool tf32_products, tf32_convolutions, fastest_convolutions;

/* With the lock held. */
static known *row_of(const char *name, size_t n) {
    for (int i = 0; i < N_DEVICES; i++)
        if (devices[i].name && strlen(devices[i].name) == n &&
            memcmp(devices[i].name, name, n) == 0)
            return &devices[i];
    return NULL;
}

void jn_device_use(const char *name, jn_device *d) {
    pthread_mutex_lock(&lock);
    known *k = row_of(name, strlen(name));
    if (!k) {
        k = &devices[N_DEVICES - 1];
        k->name = name;
        k->title = d ? d->module->title : name;
    }
    k->device = d;
    k->tried = d != NULL;
    pthread_mutex_unlock(&lock);
}

/* How products and convolutions are computed; with the lock held. */
static void tell(jn_device *d) {
    d->exec.allow_tf32 = tf32_products;
    d->exec.allow_tf32_conv = tf32_convolutions;
    d->exec.fastest_conv = fastest_convolutions;
}
static void tell_all(void) {
    for (int i = 0; i < N_DEVICES; i++)
        if (devices[i].device)
            tell(devices[i].device);
}

static janus_status open_row(known *k) {
    const jn_dev_module *module = k->module ? k->module() : NULL;
    if (!module)
        JN_TRY(jn_module_load(k->name, k->title, &module));
    JN_TRY(jn_device_open(k->name, module, &k->device));
    tell(k->device);
    return JANUS_OK;
}

static janus_status find(known *k, jn_device **out) {
    janus_status st = JANUS_OK;
    if (!k->tried) {
        st = open_row(k);
        if (st != JANUS_OK)
            k->error = *janus_last_error();
        k->tried = true;
    } else if (!k->device) {
        jn_error_publish(&k->error);
        st = k->error.code;
    }
    *out = k->device;
    return st;
}

janus_status jn_device_named(const char *name, jn_device **out) {
    *out = NULL;
    if (!name || strcmp(name, "cpu") == 0)
        return JANUS_OK;
    size_t n = strcspn(name, ":");
    pthread_mutex_lock(&lock);
    known *k = row_of(name, n);
    janus_status st =
        !k ? jn_error(JANUS_NOT_FOUND, "no device named \"%s\"", name)
        : name[n] && strcmp(name + n, ":0") != 0
            ? jn_error(JANUS_UNSUPPORTED, "device \"%s\": only the first %s device is used%s", name,
                       k->title, k->others ? k->others : "")
            : find(k, out);
    pthread_mutex_unlock(&lock);
    return st;
}

void jn_device_allow_tf32(bool products, bool convolutions) {
    pthread_mutex_lock(&lock);
    tf32_products = products;
    tf32_convolutions = convolutions;
    tell_all();
    pthread_mutex_unlock(&lock);
}

void jn_device_fastest_convolutions(bool on) {
    pthread_mutex_lock(&lock);
    fastest_convolutions = on;
    tell_all();
    pthread_mutex_unlock(&lock);
}
