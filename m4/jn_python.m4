# Python: interpreter, headers, file name suffix of extensions, and the folder installed into.
# SPDX-License-Identifier: Apache-2.0

AC_DEFUN([JN_CHECK_PYTHON], [
  AC_ARG_WITH([python],
    [AS_HELP_STRING([--without-python], [only the C library; PYTHON=... chooses the interpreter])],
    [], [with_python=auto])
  AC_ARG_VAR([PYTHON_INCLUDE], [folder of Python.h, where it is not the interpreter's own])
  jn_have_python=no
  AS_IF([test "$with_python" != no], [
    AM_PATH_PYTHON([3.10], [], [PYTHON=:])
    AS_IF([test "$PYTHON" != :], [
      # The interpreter itself, not a shim that may choose another one tomorrow.
      PYTHON=`"$PYTHON" -c 'import sys; print(sys.executable)'`
      AS_IF([test -z "$PYTHON_INCLUDE"],
        [PYTHON_INCLUDE=`"$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))'`])
      PYTHON_EXT_SUFFIX=`"$PYTHON" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))'`
      # Debian's interpreter looks in dist-packages under /usr/local and automake does not know it.
      AS_IF([test "x$prefix" = xNONE], [jn_prefix=/usr/local], [jn_prefix=$prefix])
      jn_site=`"$PYTHON" -c '
import site, sys
prefix = sys.argv[[1]].rstrip("/") + "/"
hits = [[p for p in site.getsitepackages() if p.startswith(prefix)]]
print(hits[[0]][[len(prefix):]] if hits else "")' "$jn_prefix"`
      AS_IF([test -n "$jn_site"],
        [pythondir="\${prefix}/$jn_site" pyexecdir="\${exec_prefix}/$jn_site"],
        [pythondir="\${prefix}/lib/python$PYTHON_VERSION/site-packages"
         pyexecdir="\${exec_prefix}/lib/python$PYTHON_VERSION/site-packages"])
      AC_MSG_CHECKING([for Python.h])
      AS_IF([test -f "$PYTHON_INCLUDE/Python.h"], [jn_have_python=yes])
      AC_MSG_RESULT([$jn_have_python])
      jn_python_summary="$PYTHON_VERSION ($PYTHON)"
      AS_IF([test "$jn_have_python" = no],
        [jn_python_summary="no: $PYTHON has no headers (Debian, Ubuntu: python3-dev)"])],
      [jn_python_summary="no: no Python 3.10 or later found"])
    AS_IF([test "$with_python" = yes && test "$jn_have_python" = no],
      [AC_MSG_ERROR([--with-python: $jn_python_summary])])],
    [jn_python_summary=no PYTHON=:])
  AC_SUBST([PYTHON])
  AC_SUBST([PYTHON_EXT_SUFFIX])
  AM_CONDITIONAL([HAVE_PYTHON], [test "$jn_have_python" = yes])])
