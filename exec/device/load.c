/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the module of a device that is a shared library of its own. */
#include "config.h"

#include "exec/device/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 400 };

static void *load(const char *path, char *why) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        snprintf(why, WHY, "%s", dlerror());
    return module;
}

/* Where this code is installed, the module is near. */
static void *load_beside(const char *file, char *why) {
    static const char *const places[] = {"", "janus/", "_lib/janus/"};
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)jn_module_load, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int dir = slash ? (int)(slash - info.dli_fname) : 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%.*s/%s%s", dir, info.dli_fname, places[i],
                             file) >= sizeof path)
            continue;
        FILE *there = fopen(path, "re");
        if (!there)
            continue;
        fclose(there);
        void *module = load(path, why);
        if (module)
            return module;
    }
    return NULL;
}

janus_status jn_module_load(const char *name, const char *title, const jn_dev_module **out) {
    char why[WHY] = "", file[64], installed[sizeof JANUS_MODULE_DIR + sizeof file], variable[64],
         symbol_name[64];
    snprintf(file, sizeof file, "libjanus_%s.so", name);
    snprintf(installed, sizeof installed, JANUS_MODULE_DIR "/%s", file);
    snprintf(variable, sizeof variable, "JANUS_%s_MODULE", title);
    snprintf(symbol_name, sizeof symbol_name, JN_DEV_MODULE_SYMBOL, name);
    const char *path = getenv(variable);
    void *module = path && *path ? load(path, why) : load_beside(file, why);
    if (!module && !(path && *path))
        module = load(installed, why);
    if (!module && !(path && *path))
        module = load(file, why);
    if (!module)
        return jn_error(JANUS_DEVICE,
                        "no %s device: the module libjanus_%s was not found; janus was built "
                        "without %s, or %s should name it (%s)",
                        title, name, title, variable, why);
    union {
        void *object;
        jn_dev_module_fn fn;
    } symbol = {.object = dlsym(module, symbol_name)};
    if (!symbol.object) {
        dlclose(module);
        return jn_error(JANUS_DEVICE, "no %s device: the module has no symbol %s", title,
                        symbol_name);
    }
    *out = symbol.fn();
    return JANUS_OK;
}
