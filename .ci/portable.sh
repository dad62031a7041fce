#!/usr/bin/env bash
# Runs a command with the numbers of a processor that has AVX2 but no AVX-512: other kernels of numpy, BLAS and numba,
# hence other rounding. Only features that numpy found here are named, so that it has nothing to complain about.
set -eu
cd "$(dirname "$0")/.."
names=$(.venv/bin/python -c '
import numpy
found = numpy.show_config("dicts")["SIMD Extensions"].get("found", ())
print(*(name for name in found if name.startswith(("AVX512", "X86_V4"))))')
if [ -z "$names" ]; then
  echo "This processor has no AVX-512: make test already runs these numbers."
  exit 0
fi
export NPY_DISABLE_CPU_FEATURES="$names" OPENBLAS_CORETYPE=Haswell NUMBA_CPU_NAME=haswell
exec "$@"
