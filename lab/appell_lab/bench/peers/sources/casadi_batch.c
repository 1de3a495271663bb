// The loop over a batch around one function of CasADi's generated C; results are its nonzeros, sample by sample.
#include KERNEL
#include <stdlib.h>

static long nonzeros(long k)
{
  const casadi_int * s = kernel_sparsity_out(k);
  return s[2] == 1 ? s[0] * s[1] : s[2 + s[1]];
}

const long long * pattern(long k)
{
  return k < kernel_n_out() ? kernel_sparsity_out(k) : 0;
}

void batch(long n, const double * q, const double * v, const double * a, double * r0, double * r1, double * r2)
{
  casadi_int sz_arg, sz_res, sz_iw, sz_w;
  kernel_work(&sz_arg, &sz_res, &sz_iw, &sz_w);
  const double ** arg = malloc((sz_arg + 3) * sizeof(double *));
  double ** res = malloc((sz_res + 3) * sizeof(double *));
  casadi_int * iw = malloc((sz_iw + 1) * sizeof(casadi_int));
  double * w = malloc((sz_w + 1) * sizeof(double));
  const long nq = kernel_sparsity_in(0)[0], nv = kernel_sparsity_in(1)[0], outputs = kernel_n_out();
  const long n0 = nonzeros(0), n1 = outputs > 1 ? nonzeros(1) : 0, n2 = outputs > 2 ? nonzeros(2) : 0;
  for (long k = 0; k < n; ++k) {
    arg[0] = q + k * nq;
    arg[1] = v + k * nv;
    arg[2] = a + k * nv;
    res[0] = r0 + k * n0;
    if (outputs > 1) res[1] = r1 + k * n1;
    if (outputs > 2) res[2] = r2 + k * n2;
    kernel(arg, res, iw, w, 0);
  }
  free(arg);
  free(res);
  free(iw);
  free(w);
}
