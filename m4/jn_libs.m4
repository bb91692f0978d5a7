# The libraries janus can use: CUnit (tests), oneDNN (CPU products), libcjson (models), CUDA (optional module).
# SPDX-License-Identifier: Apache-2.0

AC_DEFUN([JN_CHECK_CUNIT], [
  jn_have_cunit=no
  jn_saved_LIBS=$LIBS
  AC_CHECK_HEADER([CUnit/Basic.h], [
    LIBS="-lcunit $LIBS"
    AC_MSG_CHECKING([for libcunit])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <CUnit/Basic.h>]], [[return CU_initialize_registry();]])],
      [jn_have_cunit=yes])
    AC_MSG_RESULT([$jn_have_cunit])])
  LIBS=$jn_saved_LIBS
  AS_IF([test "$jn_have_cunit" = yes], [CUNIT_LIBS=-lcunit jn_cunit_summary=yes],
    [CUNIT_LIBS= jn_cunit_summary="skipped: CUnit not found (Debian, Ubuntu: libcunit1-dev)"])
  AC_SUBST([CUNIT_LIBS])
  AM_CONDITIONAL([HAVE_CUNIT], [test "$jn_have_cunit" = yes])])

AC_DEFUN([JN_CHECK_ONEDNN], [
  AC_ARG_WITH([onednn],
    [AS_HELP_STRING([--with-onednn=auto|yes|no], [f32 products and convolutions by oneDNN @<:@auto@:>@])],
    [], [with_onednn=auto])
  AS_IF([test "$enable_tsan" = yes && test "$with_onednn" = auto], [with_onednn=no])
  jn_have_onednn=no
  ONEDNN_LIBS=
  AS_IF([test "$with_onednn" != no], [
    jn_saved_LIBS=$LIBS
    AC_CHECK_HEADER([oneapi/dnnl/dnnl.h], [
      LIBS="-ldnnl $LIBS"
      AC_MSG_CHECKING([for dnnl_sgemm])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <oneapi/dnnl/dnnl.h>]],
          [[float x = 0; return dnnl_sgemm('N', 'N', 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &x, 1);]])],
        [jn_have_onednn=yes ONEDNN_LIBS=-ldnnl])
      AC_MSG_RESULT([$jn_have_onednn])])
    LIBS=$jn_saved_LIBS])
  AS_IF([test "$with_onednn" = yes && test "$jn_have_onednn" = no],
    [AC_MSG_ERROR([--with-onednn: oneDNN not found (Debian, Ubuntu: libdnnl-dev)])])
  AS_IF([test "$jn_have_onednn" = yes],
    [AC_DEFINE([HAVE_ONEDNN], [1], [Define to 1 if oneDNN is used.])
     jn_onednn_summary=yes],
    [test "$with_onednn" = no], [jn_onednn_summary="no (own kernels)"],
    [jn_onednn_summary="not found (own kernels; Debian, Ubuntu: libdnnl-dev)"])
  AC_SUBST([ONEDNN_LIBS])
  AM_CONDITIONAL([HAVE_ONEDNN], [test "$jn_have_onednn" = yes])])

AC_DEFUN([JN_CHECK_CJSON], [
  AC_ARG_WITH([cjson],
    [AS_HELP_STRING([--with-cjson=auto|yes|no], [janus_module_load, which reads JSON by libcjson @<:@auto@:>@])],
    [], [with_cjson=auto])
  jn_have_cjson=no
  CJSON_LIBS=
  AS_IF([test "$with_cjson" != no], [
    jn_saved_LIBS=$LIBS
    AC_CHECK_HEADER([cjson/cJSON.h], [
      LIBS="-lcjson $LIBS"
      AC_MSG_CHECKING([for cJSON_ParseWithLengthOpts])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cjson/cJSON.h>]],
          [[return cJSON_ParseWithLengthOpts("1", 1, 0, 0) == 0;]])],
        [jn_have_cjson=yes CJSON_LIBS=-lcjson])
      AC_MSG_RESULT([$jn_have_cjson])])
    LIBS=$jn_saved_LIBS])
  AS_IF([test "$with_cjson" = yes && test "$jn_have_cjson" = no],
    [AC_MSG_ERROR([--with-cjson: libcjson not found (Debian, Ubuntu: libcjson-dev)])])
  AS_IF([test "$jn_have_cjson" = yes],
    [AC_DEFINE([HAVE_CJSON], [1], [Define to 1 if libcjson is used.])
     jn_cjson_summary=yes],
    [test "$with_cjson" = no], [jn_cjson_summary="no (janus_module_load is not supported)"],
    [jn_cjson_summary="not found (janus_module_load is not supported; Debian, Ubuntu: libcjson-dev)"])
  AC_SUBST([CJSON_LIBS])
  AM_CONDITIONAL([HAVE_CJSON], [test "$jn_have_cjson" = yes])])

AC_DEFUN([JN_CHECK_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=auto|yes|no|DIR], [the CUDA module; DIR is the toolkit's folder @<:@auto@:>@])],
    [], [with_cuda=auto])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCCFLAGS], [flags for it])
  AC_ARG_VAR([JANUS_CUDA_ARCHS],
    [GPU architectures to compile kernels for, and PTX of the first: 80 86 89 90 @<:@80@:>@])
  AS_CASE([$with_cuda],
    [no], [NVCC=no],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [no],
      [$PATH$PATH_SEPARATOR${CUDA_HOME:-/usr/local/cuda}/bin$PATH_SEPARATOR/usr/local/cuda/bin])],
    [NVCC="$with_cuda/bin/nvcc"
     AS_IF([test -x "$NVCC"], [], [AC_MSG_ERROR([--with-cuda: no bin/nvcc in $with_cuda])])])
  AS_IF([test "$with_cuda" = yes && test "$NVCC" = no], [AC_MSG_ERROR([--with-cuda: nvcc not found])])
  AS_IF([test "$NVCC" != no], [
    jn_nvcc_real=`readlink -f "$NVCC"`
    CUDA_DIR=`dirname "$jn_nvcc_real"`; CUDA_DIR=`dirname "$CUDA_DIR"`
    CUDART_STATIC=
    for jn_lib in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
      AS_IF([test -z "$CUDART_STATIC" && test -f "$CUDA_DIR/$jn_lib/libcudart_static.a"],
        [CUDART_STATIC="$CUDA_DIR/$jn_lib/libcudart_static.a"])
    done
    AS_IF([test -z "$CUDART_STATIC" || test ! -f "$CUDA_DIR/include/cuda_runtime_api.h"],
      [AS_IF([test "$with_cuda" != auto],
         [AC_MSG_ERROR([--with-cuda: no cuda_runtime_api.h and libcudart_static.a in $CUDA_DIR])])
       NVCC=no])])
  AS_IF([test "$NVCC" != no], [
    # The first architecture also as PTX, which later GPUs compile for themselves.
    jn_archs=`echo "${JANUS_CUDA_ARCHS:-80}" | tr ',;' '  '`
    NVCC_GENCODE=
    for jn_arch in $jn_archs; do
      AS_IF([test -z "$NVCC_GENCODE"],
        [NVCC_GENCODE="-gencode arch=compute_$jn_arch,code=compute_$jn_arch"])
      NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$jn_arch,code=sm_$jn_arch"
    done
    NVCC_LAUNCHER=
    AS_CASE([$CC], [ccache\ *|*/ccache\ *], [NVCC_LAUNCHER=ccache])
    jn_cuda_summary="$CUDA_DIR (architectures $jn_archs)"],
    [CUDA_DIR= jn_cuda_summary=no])
  # Tests run the kernels on the host, as C++ (tests/cuda); not under sanitizers, which know no fibers.
  AC_MSG_CHECKING([whether $CC compiles C++, for tests of the CUDA kernels])
  jn_emulation=no
  printf 'template <class F> int f(F g) { return g(); }\nint main() { return f([[]]{ return 0; }); }\n' > conftest.cc
  AS_IF([test "$jn_sanitizers" = none && $CC -x c++ -std=c++17 -fsyntax-only conftest.cc >/dev/null 2>&1],
    [jn_emulation=yes])
  rm -f conftest.cc
  AC_MSG_RESULT([$jn_emulation])
  AM_CONDITIONAL([HAVE_EMULATION], [test "$jn_emulation" = yes])
  CUDART_LIBS="-Wl,$CUDART_STATIC"
  AC_SUBST([CUDART_LIBS])
  AC_SUBST([NVCC_GENCODE])
  AC_SUBST([NVCC_LAUNCHER])
  AC_SUBST([NVCC])
  AC_SUBST([CUDA_DIR])
  AM_CONDITIONAL([HAVE_CUDA], [test "$NVCC" != no])])
