# Warnings, sanitizers and coverage: everything goes to JANUS_CFLAGS and JANUS_LDFLAGS (used through
# AM_CFLAGS and AM_LDFLAGS), so that CFLAGS and LDFLAGS remain the user's.
# SPDX-License-Identifier: Apache-2.0

# JN_TRY_CFLAG(FLAG): adds FLAG to JANUS_CFLAGS if the compiler takes it.
AC_DEFUN([JN_TRY_CFLAG], [
  AS_VAR_PUSHDEF([jn_var], [jn_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC takes $1], [jn_var], [
    jn_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([jn_var], [yes])], [AS_VAR_SET([jn_var], [no])])
    CFLAGS=$jn_saved_CFLAGS])
  AS_VAR_IF([jn_var], [yes], [JANUS_CFLAGS="$JANUS_CFLAGS $1"])
  AS_VAR_POPDEF([jn_var])])

AC_DEFUN([JN_WARNINGS_AND_SANITIZERS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [warnings are errors @<:@yes in a git checkout, else no@:>@])], [],
    [AS_IF([test -e "$srcdir/.git"], [enable_werror=yes], [enable_werror=no])])
  AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer])], [], [enable_asan=no])
  AC_ARG_ENABLE([ubsan],
    [AS_HELP_STRING([--enable-ubsan], [build with UndefinedBehaviorSanitizer])], [], [enable_ubsan=no])
  AC_ARG_ENABLE([tsan],
    [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer (implies no oneDNN)])], [], [enable_tsan=no])
  AC_ARG_ENABLE([gcov], [AS_HELP_STRING([--enable-gcov], [measure test coverage])], [], [enable_gcov=no])
  AS_IF([test "$enable_asan$enable_tsan" = yesyes],
    [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])

  JANUS_CFLAGS="-std=gnu17 -Wall -Wextra -Werror=implicit-function-declaration"
  JN_TRY_CFLAG([-Wstrict-prototypes])
  JN_TRY_CFLAG([-Wmissing-prototypes])
  JN_TRY_CFLAG([-Wshadow])
  JN_TRY_CFLAG([-Wvla])
  JN_TRY_CFLAG([-fvisibility=hidden])
  # One rounding per written operation, on every compiler and instruction set: a fused multiply-add
  # appears only where a kernel asks for it. "exact" means bit for bit.
  JN_TRY_CFLAG([-ffp-contract=off])
  JN_TRY_CFLAG([-fno-math-errno])
  # `#pragma omp simd` is a request; clang reports each loop where it cannot follow it.
  AS_IF([$CC --version 2>/dev/null | grep -q clang], [JN_TRY_CFLAG([-Wno-pass-failed])])
  AS_IF([test "$enable_werror" = yes], [JANUS_CFLAGS="$JANUS_CFLAGS -Werror"])

  JANUS_LDFLAGS=
  JANUS_NO_UNDEFINED="-no-undefined -Wl,-z,defs"
  jn_sanitizers=
  jn_san_flags=
  AS_IF([test "$enable_asan" = yes],
    [jn_sanitizers="$jn_sanitizers address" jn_san_flags="$jn_san_flags -fsanitize=address"])
  AS_IF([test "$enable_ubsan" = yes],
    [jn_sanitizers="$jn_sanitizers undefined"
     jn_san_flags="$jn_san_flags -fsanitize=undefined -fno-sanitize-recover=undefined"])
  AS_IF([test "$enable_tsan" = yes],
    [jn_sanitizers="$jn_sanitizers thread" jn_san_flags="$jn_san_flags -fsanitize=thread"])
  AS_IF([test -n "$jn_sanitizers"], [
    JANUS_CFLAGS="$JANUS_CFLAGS $jn_san_flags -fno-omit-frame-pointer"
    JANUS_LDFLAGS="$jn_san_flags"
    JANUS_NO_UNDEFINED="-no-undefined"
    AC_DEFINE([JN_SANITIZED], [1], [Define to 1 in a sanitizer build.])
  ], [jn_sanitizers=none])
  AC_ARG_ENABLE([checks], [AS_HELP_STRING([--enable-checks],
    [check invariants of the executor while it runs; so do builds with sanitizers])], [], [enable_checks=no])
  AS_IF([test "$enable_checks" = yes || test "$jn_sanitizers" != none],
    [AC_DEFINE([JN_CHECKED], [1], [Define to 1 to check invariants of the executor while it runs.])])
  AS_IF([test "$enable_gcov" = yes], [
    JANUS_CFLAGS="$JANUS_CFLAGS --coverage"
    JANUS_LDFLAGS="$JANUS_LDFLAGS --coverage"])

  # Python itself is not instrumented: ./run preloads the runtimes for it.
  JANUS_PRELOAD=
  AS_IF([test "$enable_asan" = yes], [
    AS_IF([$CC --version 2>/dev/null | grep -q clang],
      [jn_rt="libclang_rt.asan-$host_cpu.so"], [jn_rt="libasan.so"])
    JANUS_PRELOAD=`$CC -print-file-name=$jn_rt`])
  # For the kernels: vectorised whatever -O level the user chose; -O2 of gcc alone skips loops whose
  # length is not known.
  jn_saved_JANUS_CFLAGS=$JANUS_CFLAGS
  JANUS_CFLAGS=
  JN_TRY_CFLAG([-ftree-vectorize])
  JN_TRY_CFLAG([-fvect-cost-model=dynamic])
  JN_TRY_CFLAG([-fno-trapping-math])
  JANUS_VECTOR_CFLAGS=$JANUS_CFLAGS
  JANUS_CFLAGS=$jn_saved_JANUS_CFLAGS
  AC_SUBST([JANUS_VECTOR_CFLAGS])
  AC_SUBST([JANUS_CFLAGS])
  AC_SUBST([JANUS_LDFLAGS])
  AC_SUBST([JANUS_NO_UNDEFINED])
  AC_SUBST([JANUS_PRELOAD])
])
