/* A few lines around CUnit: every unit test program is one table of cases.
 *
 * JN_TEST_MAIN(suite, {name, function}, ...) makes main(): it runs the cases, prints CUnit's
 * summary and fails the program when an assertion failed. Included by tests only.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JN_TESTS_CHECK_H
#define JN_TESTS_CHECK_H

#include <CUnit/Basic.h>

typedef struct jn_test_case {
    const char *name;
    CU_TestFunc run;
} jn_test_case;

static inline int jn_test_main(const char *suite_name, const jn_test_case *cases, size_t n_cases) {
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    if (!suite)
        return 2;
    for (size_t i = 0; i < n_cases; i++) {
        if (!CU_add_test(suite, cases[i].name, cases[i].run))
            return 2;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    unsigned ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed != 0 || ran != n_cases;
}

#define JN_TEST_MAIN(suite_name, ...)                                                              \
    int main(void) {                                                                               \
        static const jn_test_case cases[] = {__VA_ARGS__};                                         \
        return jn_test_main(suite_name, cases, sizeof cases / sizeof cases[0]);                    \
    }

#endif
