// Motions by CasADi's generated C: classical Runge-Kutta steps around its forward dynamics, or, with WHOLE_STEP, its own
// whole step. NV, the number of joints, is known while this is compiled, so that all small loops are written out.
#include KERNEL
#include <stdlib.h>
#include <string.h>

static void along(double * to, const double * from, double h, const double * slope)
{
  for (int j = 0; j < NV; ++j) to[j] = from[j] + h * slope[j];
}

void rollout(long n, const double * sizes, const double * q0, const double * v0, const double * u, double * qs, double * vs)
{
  const long steps = (long)sizes[0], every = (long)sizes[1];
  const double h = sizes[2];
  casadi_int sz_arg, sz_res, sz_iw, sz_w;
  kernel_work(&sz_arg, &sz_res, &sz_iw, &sz_w);
  const double ** arg = malloc((sz_arg + 3) * sizeof(double *));
  double ** res = malloc((sz_res + 3) * sizeof(double *));
  casadi_int * iw = malloc((sz_iw + 1) * sizeof(casadi_int));
  double * w = malloc((sz_w + 1) * sizeof(double));
  double q[NV], v[NV], q2[NV], v2[NV];
  for (long i = 0; i < n; ++i) {
    memcpy(q, q0 + i * NV, sizeof q);
    memcpy(v, v0 + i * NV, sizeof v);
    for (long k = 0; k < steps; ++k) {
      const double * force = u + (i * steps + k) * NV;
#ifdef WHOLE_STEP
      arg[0] = q, arg[1] = v, arg[2] = force, res[0] = q2, res[1] = v2;
      kernel(arg, res, iw, w, 0);
      memcpy(q, q2, sizeof q);
      memcpy(v, v2, sizeof v);
#else
      double a1[NV], a2[NV], a3[NV], a4[NV], v3[NV], v4[NV];
      arg[2] = force;
      arg[0] = q, arg[1] = v, res[0] = a1;
      kernel(arg, res, iw, w, 0);
      along(q2, q, 0.5 * h, v);
      along(v2, v, 0.5 * h, a1);
      arg[0] = q2, arg[1] = v2, res[0] = a2;
      kernel(arg, res, iw, w, 0);
      along(q2, q, 0.5 * h, v2);
      along(v3, v, 0.5 * h, a2);
      arg[0] = q2, arg[1] = v3, res[0] = a3;
      kernel(arg, res, iw, w, 0);
      along(q2, q, h, v3);
      along(v4, v, h, a3);
      arg[0] = q2, arg[1] = v4, res[0] = a4;
      kernel(arg, res, iw, w, 0);
      for (int j = 0; j < NV; ++j) {
        q[j] += h / 6 * (v[j] + 2 * v2[j] + 2 * v3[j] + v4[j]);
        v[j] += h / 6 * (a1[j] + 2 * a2[j] + 2 * a3[j] + a4[j]);
      }
#endif
      if ((k + 1) % every == 0) {
        const long row = i * (steps / every) + k / every;
        memcpy(qs + row * NV, q, sizeof q);
        memcpy(vs + row * NV, v, sizeof v);
      }
    }
  }
  free(arg);
  free(res);
  free(iw);
  free(w);
}
