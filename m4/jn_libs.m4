# The libraries janus can use: CUnit (tests), oneDNN (CPU products), CUDA (optional module).
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

AC_DEFUN([JN_CHECK_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=auto|yes|no|DIR], [the CUDA module; DIR is the toolkit's folder @<:@auto@:>@])],
    [], [with_cuda=auto])
  AC_ARG_VAR([NVCC], [CUDA compiler])
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
    jn_cuda_summary="$CUDA_DIR"],
    [CUDA_DIR= jn_cuda_summary=no])
  AC_SUBST([NVCC])
  AC_SUBST([CUDA_DIR])
  AM_CONDITIONAL([HAVE_CUDA], [test "$NVCC" != no])])
